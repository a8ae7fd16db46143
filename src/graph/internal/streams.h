// streams.h: what crosses layers while a tree is built: which values a reader sees, and which layers see alike.
//
// Order    A stack is opened, each layer entered and left in turn, the stack closed. A layer sees what earlier layers,
//          and earlier stacks, published or appended, never what it does itself.
// Alike    Two layers of a kind are one group when every value that they see is alike: as many elements, each the same
//          node, or one that the same ops of the same components make under the same dims.
// Errors   At the stream's declaration or the reader's: an undeclared stream, no value before a reader, two in a layer,
//          none that reads or publishes, lists of layers that the stack lacks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/internal/structural.h"

namespace archlight::graph::internal {

enum class ReadMode { kLast, kEach, kAll, kConcat };
std::string_view read_name(ReadMode mode);

// What one layer sees of one stream.
struct Seen {
  int stream = -1;
  ReadMode mode = ReadMode::kLast;
  bool by_iteration = false;  // an input of the stack: layer j sees element j
  std::vector<NodeId> nodes;  // one, or the elements in order; none: there is nothing to see
  std::string absent;         // why not, for the reader that insists
};

// One group of the stack at hand.
struct GroupRun {
  int id = -1;   // in the tree
  int kind = 0;  // by index into the stack's kinds
  std::vector<Seen> seen;
  std::map<int, NodeId> published;      // by stream
  std::vector<NodeId> out;              // what its layers hand on: of each carried stream
  std::map<std::string, NodeId> nodes;  // of its block, by name
};

class Streams {
 public:
  // All outlive it.
  Streams(SpecTree& tree, const Structural& structural, base::Faults& faults)
      : tree_(tree), structural_(structural), faults_(faults) {}

  // The stack's declarations join the tree's streams.
  void open(const spec::StackDecl& stack, int64_t layers, int64_t first_index);
  bool is_open() const { return stack_ != nullptr; }
  // Carried streams of the open stack, by index into the tree's.
  const std::vector<int>& carried() const { return carried_; }

  // A layer begins; `entering` holds what each carried stream brings.
  void enter(int64_t layer, std::vector<NodeId> entering);
  // What the layer at hand sees of the stream that its stack knows by this name; null after a fault.
  std::optional<Seen> see(const std::string& name, const base::Span& at, const std::string& reader);
  // The same of a stream among the stack's inputs.
  Seen see_input(int stream);
  bool sees_alike(const Seen& seen);
  // Joins a component's published node to the group; a node of kNone publishes nothing.
  void publish(GroupRun& group, const std::string& name, NodeId node, const base::Span& at,
               const std::string& component);
  // The layer ends, one of this group's.
  void leave(const GroupRun& group);
  void close();

  // Outside stacks: the stream of an earlier stack by this name, whole.
  std::optional<int> find(const std::string& name) const;
  bool left_out(const std::string& name) const;
  std::optional<Seen> see_whole(int stream, const base::Span& at, const std::string& reader);

  // How many elements `seen` holds, as the text of a formula; a name that this makes joins the derived counts.
  std::string count_text(const Seen& seen);
  // Facts of a group for later comparisons; ids come in order.
  void add_group(const spec::LayerRule* rule) { rules_.push_back(rule); }
  // Some group sees anything through a stream that does not carry.
  void mark_sees(int group) {
    sees_.resize(tree_.groups.size() + 1), sees_[static_cast<size_t>(group)] = true;
  }
  void note_reader(const Seen& seen, int group, int call);

  // Streams that nothing reads or publishes.
  void finish();

 private:
  struct State {                  // beside each of the tree's streams
    std::vector<int64_t> chosen;  // of an append stream
    bool literal = false;         // the spec's own list says how many
    bool empty_stack = false;
    int64_t each_readers = 0;  // layers of the open stack that read it one by one
    bool each_read = false;    // by the open stack
    std::map<size_t, std::string> counts;
  };
  struct Visible {
    int stream = -1;  // -1: left out by its condition
    std::optional<ReadMode> mode;
  };

  void fail(const base::Span& at, std::string wrong, std::string expected = {}, std::string fix = {});
  std::string described(int stream) const;
  std::optional<std::vector<int64_t>> choose(const spec::StreamDecl& decl);
  Seen at_layer(int stream, ReadMode mode, bool by_iteration);
  bool alike(NodeId a, NodeId b) const;
  bool from_carried(int stream) const;

  SpecTree& tree_;
  const Structural& structural_;
  base::Faults& faults_;
  std::vector<State> states_;
  std::map<std::string, int> known_;      // internal and append streams of all stacks so far
  std::map<std::string, bool> left_out_;  // names whose condition leaves them out
  std::vector<const spec::LayerRule*> rules_;
  std::vector<bool> sees_;
  // Of the open stack.
  const spec::StackDecl* stack_ = nullptr;
  int64_t layers_ = 0, first_index_ = 0, layer_ = 0;
  std::map<std::string, Visible> visible_;
  std::vector<int> carried_;
  std::vector<NodeId> entering_;
};

}  // namespace archlight::graph::internal

// tree.h: the spec expanded once: every op of every distinct layer, its edges, its place in the model.
//
// SpecTree  which ops exist and how they connect. One node per op of each distinct layer group, in walking order; a group
//           stands for all its layers, a call with copies for all its copies.
// Done      What is `phase: prefill` stands in decode's tree too, with its shapes and parameters, and does no work there.
//           One that changes a live value alone, as placing an image's vectors does, hands that value on instead.
// Program   in what order to walk, and how many copies of each step.
// Phases    Prefill and decode are two trees: decode walks each component's decode_variant where it has one.
// Errors    Unknown names, cycles, absent operands, roles that do not fit a slot, schedules that miss a layer: at the
//           spec's line.
// Bounds    20,000 ops and as many calls, 2,000 layers over all stacks, 500 kinds of layer, 1,000 letters of a
//           module path: far beyond any model, and a fault past them, whatever a file asks for.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "expr/formula.h"
#include "spec/binding.h"
#include "spec/library.h"

namespace archlight::graph {

using NodeId = uint32_t;
inline constexpr NodeId kNone = ~NodeId{0};

enum class Phase { kPrefill, kDecode };
std::string_view phase_name(Phase phase);

// The names that a component's formulas see beside the model's dims: what its call bound, in the caller's scope.
struct Scope {
  int parent = -1;                            // the scope that the formulas are read in
  std::span<const spec::NamedFormula> names;  // of the declaration
};

// A call of a component: a block, a slot's fill, an expert.
struct Call {
  std::string name;
  std::string path;  // canonical module path, '*' where an index stands
  std::string role;
  const spec::Component* component = nullptr;  // what is walked in this phase
  const spec::Component* stored = nullptr;     // whose weights are stored: the base of a decode variant
  const spec::NodeDecl* decl = nullptr;        // null for the block of a stack
  int parent = -1;
  int scope = -1;
  int group = -1;
  // Copies of this call alone; empty formulas are 1.
  expr::Formula copies, active;
  int copies_scope = -1;
  bool splits_tokens = false;
  int64_t copies_value = 1;
  std::vector<NodeId> inputs;
  std::vector<int> input_streams;  // of each input, the stream it was read from, or -1
  NodeId output = kNone;
  bool done = false;  // in a decode step: prefill has computed what is in it
};

struct Node {
  std::string name;
  std::string path;
  std::string role;
  const spec::Op* op = nullptr;
  const spec::NodeDecl* decl = nullptr;
  int call = -1;   // -1 at the model's top level
  int group = -1;  // -1 outside stacks
  int scope = -1;
  std::vector<NodeId> in;
  std::vector<int> in_streams;  // of each operand, the stream it is read from, or -1 for a plain edge
  const spec::CacheEntry* cache = nullptr;      // this node's value is kept for decode
  const spec::NodeDecl* weight_base = nullptr;  // whose stored weight it reads, when not its own
  const spec::Op* weight_base_op = nullptr;
  std::string weight_path;  // module path of that weight
  bool biased = false;      // its op's optional parameter is stored
  bool tied = false;        // its weight repeats another's values
  std::string apart;        // counted apart from the main model
  bool done = false;        // in a decode step: prefill has computed it
};

// A value that crosses layers. Values and readers are nodes of the groups' first layers; a group stands for all its
// layers, whose values are alike.
struct Stream {
  struct Value {
    NodeId node = kNone;
    int group = -1;
    int64_t layer = -1;  // the layer it is from, as checkpoints count; of a carried stream the group's first
  };
  struct Reader {
    int group = -1;    // -1 outside stacks
    int call = -1;     // the component that reads; -1: an entry of the model's list
    std::string read;  // last, each, all, concat
    size_t seen = 0;   // how many values it sees
  };
  std::string name, stack;
  std::string src;  // as declared: a sentence, and code of the forward source in backticks where it has some
  base::Span at;
  spec::StreamDecl::Kind kind = spec::StreamDecl::Kind::kCarried;
  const spec::StreamDecl* decl = nullptr;
  std::vector<Value> values;    // in order of layers; of a carried stream what each group hands on
  std::vector<Reader> readers;  // none of a carried stream, which the next layer reads
};

// Layers of one stack that are alike. Layers of one kind that see different values of streams are groups of their own:
// walked each, shown together.
struct Group {
  struct Carry {
    int stream = -1;
    NodeId in = kNone, out = kNone;
  };
  struct Sees {
    int stream = -1;
    std::string read;
    size_t count = 0;
  };
  std::string stack;
  std::string label;       // "dense", "sliding_attention": what tells it from the stack's other groups
  int kind = 0;            // equal for the groups of one kind, over the whole tree
  std::string kind_label;  // what tells the kind from the stack's other kinds
  std::vector<Carry> carries;
  std::vector<Sees> sees;  // of streams that do not carry
  std::string apart;
  std::vector<int64_t> layers;       // indices as checkpoints count them
  std::vector<spec::BoundDim> dims;  // its per-layer dims
  expr::Formula count;               // over dims, equal to layers.size()
  int call = -1;                     // the block
  NodeId first = 0, last = 0;        // its nodes, [first, last)
};

struct Step {
  int group = -1;       // a group, or
  NodeId node = kNone;  // a single op
};

// A number that no dim of the spec names: how many layers of a config list are of one kind, what a per-layer dim is in
// some of them.
struct Derived {
  std::string name;
  expr::Rational value;
  std::string origin;
  bool literal = false;  // the spec states it: a number in formulas too
};

struct SpecTree {
  const spec::Library* library = nullptr;
  const spec::Binding* binding = nullptr;
  Phase phase = Phase::kPrefill;
  std::vector<Node> nodes;
  std::vector<Call> calls;
  std::vector<Scope> scopes;
  std::vector<Group> groups;
  std::vector<Stream> streams;  // in the order of their declarations
  std::vector<Step> program;
  std::vector<Derived> derived;
  std::vector<std::shared_ptr<const std::vector<spec::NamedFormula>>>
      made_names;                                                 // of scopes no declaration holds
  std::vector<std::shared_ptr<const spec::NodeDecl>> made_decls;  // of nodes that join the values of a stream
  // Values that leave the model: its last entry's, and every output of a stack that is counted apart.
  std::vector<NodeId> results;

  // The chain of calls around a node, innermost first.
  std::vector<int> calls_around(NodeId node) const;
};

// Layers as ranges: "0-2, 5, 9-11"; of more than 12 ranges the first ones and how many layers follow.
std::string layers_text(std::span<const int64_t> layers);

// Which layers see how many values of a stream, over the groups of one reading stack: what one declaration comes to.
struct History {
  int stream = -1;
  std::string stack;  // whose layers read
  std::vector<std::pair<size_t, std::vector<int64_t>>>
      layers;  // by how many, ascending; as checkpoints count
};
// Of streams that layers read one by one, as far as they go, or joined; those that all layers see alike included.
std::vector<History> histories(const SpecTree& tree);

base::Result<SpecTree> build_tree(const spec::Library& library, const spec::Binding& binding, Phase phase);

}  // namespace archlight::graph

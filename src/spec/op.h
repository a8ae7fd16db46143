// op.h: primitive ops. A row states what an op's parameters, work and shapes are; shapes and layouts follow it.
//
// Row columns
//   params   "weight[out,in] bias?[out]": parameter tensors by axis; a '?' is stored only where the node says so;
//            "=[dim]" is a tensor named by the node itself ("=?[dim]" an optional one); "bound[]" is one number
//            without an axis.
//   flops    per evaluation, in the row's own names; one multiply-add is 2. `pairs` is the number of (query, key)
//            pairs that the node's mask lets through, see attention_pairs().
//   shape    "kind: [*r,in] -> [*r,out]": operands, then the output. A name binds an axis length, *r any leading
//            axes (in formulas r is their product), an expression must equal the axis. Kinds that a custom op may
//            have: preserve axis_replace axis_select axis_concat broadcast contract permute. Built in only: source
//            (no operand) and explicit (the output is stated). The last operand of a built-in row may be
//            "[*r,dim]...": one or more alike, and n is how many.
//   partial  may a partial sum pass: each operand, all together, none
//   coupled  an axis whose elements depend on each other
//   unit     matmul work runs on tensor cores, vector work elsewhere; move computes nothing
//   traffic  what reaches memory: read_write operands and output; view nothing; on_chip the output stays in the
//            kernel; gather reads only the rows it returns
//   holds    a condition on the row's names that its operands must meet, checked wherever both sides are numbers
//   positions the operand whose numbers are positions (of experts, of tokens), 1 for the second; 0 for none
//   reads    of a kept operand, how many entries one request's step reads, where that is not all that is kept
//   writes   of a kept state, how many of its entries one request's step writes, where that is not all
//   numbers  names that only flops and reads use, bound by the node: "iterations"
// Source    Each row's own column; docs/sources.md holds the longer ones.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/formula.h"

namespace archlight::spec {

enum class ShapeKind {
  kPreserve,
  kBroadcast,
  kAxisReplace,
  kAxisSelect,
  kAxisConcat,
  kContract,
  kPermute,
  kSource,
  kExplicit
};
enum class Partial { kEach, kTogether, kNone };
enum class Unit { kMatmul, kVector, kMove };
enum class Traffic { kReadWrite, kView, kOnChip, kGather };

struct OpRow {
  std::string_view name;
  std::string_view params;
  std::string_view flops;
  std::string_view shape;
  Partial partial = Partial::kNone;
  std::string_view coupled = {};
  Unit unit = Unit::kVector;
  Traffic traffic = Traffic::kReadWrite;
  std::string_view source;
  std::string_view holds = {};
  int positions = 0;
  std::string_view reads = {}, writes = {};
  std::string_view numbers = {};
};

// The built-in table, in the order of docs.
std::span<const OpRow> op_rows();

struct AxisPattern {
  std::string rest;       // "r" for *r; empty otherwise
  std::string name;       // a plain name; empty for an expression
  expr::Formula formula;  // an expression over names
};

struct ParamPattern {
  std::string name;  // "weight"; empty: named by the node itself
  bool optional = false;
  std::vector<expr::Formula> axes;
};

// Where an output axis comes from: what shape inference and layouts both follow.
struct DimSource {
  int operand = 0;
  int axis = 0;  // from the operand's front; with a rest, counted from its back as -1, -2, ...
  enum class How { kCarried, kSplit, kMerged, kNew } how = How::kCarried;
};

// A row compiled once.
struct Op {
  std::string name;
  std::vector<ParamPattern> params;
  expr::Formula flops;
  ShapeKind kind = ShapeKind::kPreserve;
  std::vector<std::vector<AxisPattern>> operands;
  bool repeats_last = false;  // the last operand stands for one or more; their number is the axis name `n`
  std::vector<AxisPattern> output;
  // Per output axis after the rest, the operand axes it comes from; empty for an axis the op makes.
  std::vector<std::vector<DimSource>> dim_map;
  Partial partial = Partial::kNone;
  std::string coupled;
  Unit unit = Unit::kVector;
  Traffic traffic = Traffic::kReadWrite;
  std::string source;
  expr::Formula holds;  // empty when the row has none
  int positions = 0;
  expr::Formula reads, writes;     // empty when the row has none
  std::vector<std::string> names;  // what a node's dims may bind: every axis name of the row
  std::string flops_text, shape_text, params_text;
};

// Faults at `at`: an unknown kind, one that its pattern contradicts, a name that the row lacks, a malformed pattern.
base::Result<Op> compile_op(const OpRow& row, const base::Span& at = {});

// The built-in ops, compiled once per process; asserts that every row compiles.
const std::vector<Op>& builtin_ops();
const Op* find_builtin_op(std::string_view name);

// Whether its work is counted by (query, key) pairs; of those, whether an operand is what the context keeps, by key
// heads 'g'. A score among these makes the axis of heads its second.
bool works_on_pairs(const Op& op);
bool meets_context(const Op& op);
bool is_context(const Op& op, size_t operand);
bool is_score(const Op& op);

std::string_view shape_kind_name(ShapeKind kind);
std::string_view partial_name(Partial partial);
std::string_view unit_name(Unit unit);
std::string_view traffic_name(Traffic traffic);

}  // namespace archlight::spec

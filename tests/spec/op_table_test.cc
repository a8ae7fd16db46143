// The ops table: every row compiles, and where an output axis comes from is what the row's pattern says.
#include <gtest/gtest.h>

#include <set>

#include "spec/op.h"

namespace archlight::spec {
namespace {

TEST(OpTable, EveryRowCompilesOnce) {
  std::set<std::string_view> names;
  for (const OpRow& row : op_rows()) {
    const base::Result<Op> op = compile_op(row);
    EXPECT_TRUE(op.ok()) << row.name << ": " << (op.ok() ? "" : op.faults()[0].message());
    EXPECT_TRUE(names.insert(row.name).second) << row.name << " stands twice";
    EXPECT_FALSE(row.source.empty()) << row.name;
    EXPECT_EQ(find_builtin_op(row.name)->name, row.name);
  }
  EXPECT_EQ(builtin_ops().size(), op_rows().size());
  EXPECT_EQ(find_builtin_op("linaer"), nullptr);
}

TEST(OpTable, AllNineShapeKindsAreInUse) {
  std::set<ShapeKind> kinds;
  for (const Op& op : builtin_ops()) kinds.insert(op.kind);
  EXPECT_EQ(kinds.size(), 9u);
}

// Work that moves data computes nothing; work that computes is counted.
TEST(OpTable, OnlyMovesAreFree) {
  for (const Op& op : builtin_ops()) EXPECT_EQ(op.flops_text == "0", op.unit == Unit::kMove) << op.name;
}

// "0:-1 carried" per source, a list per output axis behind the rest.
std::string map_of(std::string_view name) {
  std::string out;
  for (const std::vector<DimSource>& axis : find_builtin_op(name)->dim_map) {
    out += out.empty() ? "[" : " [";
    for (size_t i = 0; i < axis.size(); ++i) {
      out += (i ? ", " : "") + std::to_string(axis[i].operand) + ":" + std::to_string(axis[i].axis) + " ";
      switch (axis[i].how) {
        case DimSource::How::kCarried:
          out += "carried";
          break;
        case DimSource::How::kSplit:
          out += "split";
          break;
        case DimSource::How::kMerged:
          out += "merged";
          break;
        case DimSource::How::kNew:
          out += "new";
          break;
      }
    }
    out += "]";
  }
  return out;
}

// A bound of a clipped layer is stored as one number: a tensor without an axis.
TEST(OpTable, AParameterMayHaveNoAxis) {
  OpRow row;
  row.name = "held";
  row.params = "low[] high[ ]";
  row.flops = "2*r*dim";
  row.shape = "preserve: [*r,dim] -> [*r,dim]";
  const base::Result<Op> op = compile_op(row);
  ASSERT_TRUE(op.ok()) << op.faults()[0].message();
  ASSERT_EQ(op->params.size(), 2u);
  for (const ParamPattern& param : op->params) EXPECT_TRUE(param.axes.empty()) << param.name;
  row.params = "low[,]";
  row.flops = "0";
  EXPECT_FALSE(compile_op(row).ok());
}

TEST(OpTable, DimMaps) {
  const std::pair<const char*, const char*> rows[] = {
      {"linear", "[]"},  // out is new; in is contracted
      {"rmsnorm", "[0:-1 carried]"},
      {"add", "[0:-1 carried, 1:-1 carried]"},
      {"slice", "[]"},  // a part of an axis carries no sharding
      {"concat", "[0:-1 merged, 1:-1 merged]"},
      {"split_heads", "[0:-1 split] [0:-1 split]"},  // heads outermost, then width
      {"merge_heads", "[0:-2 merged, 0:-1 merged]"},
      {"broadcast_heads", "[] [0:-1 carried]"},  // heads are new
      {"head_linear", "[0:-2 carried] []"},
      {"attention_score", "[0:0 carried, 1:0 carried] [0:2 carried] [0:1 carried] [1:1 carried]"},
      {"attention_softmax", "[0:0 carried] [0:1 carried] [0:2 carried] [0:3 carried]"},
      {"attention_apply", "[0:0 carried, 1:0 carried] [0:2 carried] [0:1 carried] [1:3 carried]"},
      {"embedding", "[] [] []"},
  };
  for (const auto& [name, expected] : rows) EXPECT_EQ(map_of(name), expected) << name;
}

TEST(OpTable, WhatANodeMayBind) {
  EXPECT_EQ(find_builtin_op("linear")->names, (std::vector<std::string>{"in", "out"}));
  EXPECT_EQ(find_builtin_op("split_heads")->names, (std::vector<std::string>{"heads", "width"}));
  EXPECT_EQ(find_builtin_op("rmsnorm")->names, (std::vector<std::string>{"dim"}));
}

std::string fault(const OpRow& row) {
  const base::Result<Op> op = compile_op(row);
  return op ? "compiles" : op.faults()[0].message();
}

TEST(OpTable, FaultyRows) {
  OpRow row{"x",
            "",
            "r*dim",
            "preserve: [*r,dim] -> [*r,dim]",
            Partial::kNone,
            "",
            Unit::kVector,
            Traffic::kReadWrite,
            "s"};
  EXPECT_EQ(fault(row), "compiles");
  row.flops = "r*wdith";
  EXPECT_EQ(fault(row),
            "the flops of op 'x' name 'wdith', which its shape and params lack; expected a name of the row");
  row.flops = "r*dim";
  row.coupled = "dam";
  EXPECT_EQ(
      fault(row),
      "op 'x' couples 'dam', which its shape lacks; expected an axis of its shape; did you mean 'dim'?");
  row.coupled = "";
  row.holds = "dim <= dimm";
  EXPECT_EQ(fault(row),
            "the condition of op 'x' names 'dimm', which its shape and params lack; expected a name of the "
            "row; did you mean 'dim'?");
  row.holds = "";
  row.shape = "preserve: [*r,dim] -> [*r,out]";
  EXPECT_EQ(fault(row),
            "op 'x' is of kind preserve, yet 'preserve: [*r,dim] -> [*r,out]' changes the shape; expected "
            "one operand, whose axes are the output's");
  row.shape = "presreve: [*r,dim] -> [*r,dim]";
  EXPECT_EQ(fault(row),
            "unknown shape kind 'presreve'; expected one of preserve, broadcast, axis_replace, axis_select, "
            "axis_concat, contract, permute, source, explicit; did you mean 'preserve'?");
  row.shape = "preserve [*r,dim]";
  EXPECT_EQ(fault(row),
            "the shape 'preserve [*r,dim]' of op 'x' cannot be read; expected 'kind: operands -> output', as "
            "in 'axis_replace: [*r,in] -> [*r,out]'");
  row.shape = "preserve: *r,dim -> [*r,dim]";
  EXPECT_EQ(fault(row),
            "the shape pattern '*r,dim' has no brackets; expected axes in brackets, as in [*r,in]");
  row.shape = "preserve: [dim,*r] -> [dim,*r]";
  EXPECT_EQ(fault(row), "'*r' is no leading rest; expected *name as the first axis only");
  row.shape = "source: [*r,dim] -> [*r,dim]";
  EXPECT_EQ(fault(row),
            "op 'x' of kind source has 1 operands; expected no operand for source, at least one for every "
            "other kind");
  row.shape = "preserve: [*r,dim] -> [*r,dim]";
  row.params = "weight";
  EXPECT_EQ(fault(row),
            "the params 'weight' of op 'x' cannot be read; expected name[axis,...] or name?[axis,...]");
}

}  // namespace
}  // namespace archlight::spec

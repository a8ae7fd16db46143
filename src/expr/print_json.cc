#include <nlohmann/json.hpp>

#include "expr/internal/store.h"

namespace archlight::expr {
namespace {

const char* op_name(Kind kind) {
  switch (kind) {
    case Kind::kAdd:
      return "add";
    case Kind::kMul:
      return "mul";
    case Kind::kPow:
      return "pow";
    case Kind::kFloorDiv:
      return "floor_div";
    case Kind::kCeilDiv:
      return "ceil_div";
    case Kind::kMod:
      return "mod";
    case Kind::kMin:
      return "min";
    case Kind::kMax:
      return "max";
    case Kind::kSelect:
      return "select";
    case Kind::kLess:
      return "less";
    case Kind::kLessEqual:
      return "less_equal";
    case Kind::kEqual:
      return "equal";
    case Kind::kConstant:
    case Kind::kSymbol:
    case Kind::kError:
      break;
  }
  return "leaf";
}

base::Json json_of(const Store& store, uint32_t id) {
  switch (store.kind(id)) {
    case Kind::kConstant:
      return {{"constant", to_string(store.value(id))}};
    case Kind::kSymbol:
      return {{"symbol", store.symbol_info(id).name}};
    case Kind::kError:
      return {{"error", store.errors[store.node(id).payload]}};
    default:
      break;
  }
  base::Json args = base::Json::array();
  for (uint32_t operand : store.operands(id)) args.push_back(json_of(store, operand));
  return {{"op", op_name(store.kind(id))}, {"args", std::move(args)}};
}

}  // namespace

base::Json to_json(Expr e) {
  const Store& store = store_of(e);
  if (const std::optional<std::string> refusal = too_long_to_print(store, e.id()))
    return {{"error", *refusal}};
  return json_of(store, e.id());
}

}  // namespace archlight::expr

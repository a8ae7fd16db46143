// Any text: a formula that parses prints as a text that parses back to the same handle, before and after
// simplifying and expanding, each of which a second time changes nothing; or the parser faults with a
// message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "expr/expr.h"
#include "expr/formula.h"

namespace {

using namespace archlight::expr;

Expr instantiate(const Formula& formula, ExprPool& pool) {
  return formula.instantiate(pool, [&](std::string_view name) { return pool.symbol(name); });
}

void check_text(Expr e) {
  const std::string text = to_text(e);
  // An error, or a form too long to print.
  if (text.starts_with("error(")) return;
  // A printed form can pass the parser's own bounds; that is a refusal, never another form.
  const archlight::base::Result<Formula> again = Formula::parse(text);
  if (!again) {
    const std::string fault = again.faults()[0].message();
    if (text.size() <= 10'000 && fault.find("nested too deep") == std::string::npos) std::abort();
    return;
  }
  if (!(instantiate(*again, *e.pool()) == e)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 2000) return 0;
  const archlight::base::Result<Formula> formula =
      Formula::parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!formula) {
    if (formula.faults()[0].message().empty()) std::abort();
    return 0;
  }
  ExprPool pool;
  const Expr e = instantiate(*formula, pool);
  check_text(e);
  if (to_latex(e).empty() || to_json(e).empty()) std::abort();
  (void)bounds(e);

  const Expr simple = simplify(e);
  check_text(simple);
  if (!(simplify(simple) == simple)) std::abort();

  const Expr expanded = expand(e);
  if (expanded.operand_count() > 2000) return 0;
  check_text(expanded);
  if (!expanded.is_error() && !(expand(expanded) == expanded)) std::abort();
  return 0;
}

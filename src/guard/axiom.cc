#include "guard/axiom.h"

#include <algorithm>
#include <map>
#include <set>

#include "guard/internal/promises.h"
#include "guard/internal/prove.h"

namespace archlight::guard {
namespace {

using analysis::Analysis;
using expr::Expr;
using expr::Rational;
using spec::Axiom;
using Growth = spec::CacheEntry::Growth;

constexpr const char* kContext = "s_ctx";

// One component in its place: its entries, and the names that its axioms may use.
class Promises {
 public:
  Promises(const Analysis& analysis, const std::vector<analysis::SymbolValue>& symbols, int call)
      : analysis_(analysis), symbols_(symbols), tree_(*analysis.tree), call_(call) {
    for (const analysis::Cache& cache : analysis.caches)
      if (tree_.nodes[cache.node].call == call)
        entries_.push_back({cache.kind, cache.growth, expr::copy_to(cache.per_token, pool_),
                            cache.amount ? expr::copy_to(cache.amount, pool_) : pool_.constant(0)});
    context_ = pool_.symbol(kContext, {Rational{1, 1}, std::nullopt});
  }

  bool keeps_nothing() const { return entries_.empty(); }

  Expr value(const expr::Formula& formula) { return value(formula, tree_.calls[call_].scope); }

  // Its number at a context length, under the config's dims; none where there is none.
  std::optional<Rational> at(Expr e, base::Int128 context) {
    const base::Result<Rational> number =
        expr::evaluate(e, [&](std::string_view name) -> std::optional<Rational> {
          return name == kContext ? std::optional(Rational{context, 1}) : number_of(name);
        });
    return number ? std::optional(*number) : std::nullopt;
  }

  // The same with every dim as its number.
  Expr with_numbers(Expr e) {
    return expr::substitute(e, [&](std::string_view name) -> std::optional<Expr> {
      const std::optional<Rational> number = name == kContext ? std::nullopt : number_of(name);
      return number ? std::optional(pool_.constant(*number)) : std::nullopt;
    });
  }

  // Where growth may change its law: about each window and ratio and each dim that is named, near and far.
  std::vector<base::Int128> contexts(const Axiom& axiom) {
    std::set<base::Int128> out = {1, 2, 3, 5, 7, 64, 100, 4096, 4097, 131072, 1000003};
    for (const expr::Formula* side : {&axiom.left, &axiom.right})
      if (!side->empty())
        for (const std::string& name : side->names())
          if (const std::optional<Rational> dim = number_of(name); dim && dim->is_integer())
            for (const base::Int128 near : {dim->num - 1, dim->num, dim->num + 1})
              if (near >= 1) out.insert(near);
    for (const Entry& entry : entries_)
      if (const std::optional<Rational> amount = at(entry.amount, 1); amount && amount->is_integer())
        for (const base::Int128 near : {amount->num - 1, amount->num, amount->num + 1, 2 * amount->num + 1})
          if (near >= 1) out.insert(near);
    return {out.begin(), out.end()};
  }

  std::vector<std::string> names() const {
    std::vector<std::string> out = {"kv_elements",         "kv_elements_per_token", "kv_tokens", "kv_growth",
                                    "kv_growth_when_full", "state_elements",        kContext};
    for (const Entry& entry : entries_)
      for (const char* part : {".elements", ".tokens", ".per_token"}) out.push_back(entry.kind + part);
    for (const spec::BoundDim& dim : tree_.binding->dims) out.push_back(dim.name);
    return out;
  }

 private:
  struct Entry {
    std::string kind;
    Growth growth;
    Expr per_token, amount;
  };

  Expr tokens(const Entry& entry, Expr context) {
    switch (entry.growth) {
      case Growth::kPerToken:
        return context;
      case Growth::kWindow:
      case Growth::kChunk:  // at most one chunk
        return pool_.min(context, entry.amount);
      case Growth::kRatio:
        return pool_.floor_div(context, entry.amount);
      case Growth::kFixed:
        return pool_.constant(1);
    }
    return {};
  }

  // Over the entries of one kind, or of all.
  Expr elements(std::string_view kind, Expr context) {
    Expr sum = pool_.constant(0);
    for (const Entry& entry : entries_)
      if (kind.empty() || entry.kind == kind) sum = sum + entry.per_token * tokens(entry, context);
    return sum;
  }
  Expr per_token(std::string_view kind) {
    Expr sum = pool_.constant(0);
    for (const Entry& entry : entries_)
      if ((kind.empty() || entry.kind == kind) && entry.growth != Growth::kFixed)
        sum = sum + (entry.growth == Growth::kRatio ? entry.per_token / entry.amount : entry.per_token);
    return sum;
  }
  Expr most_tokens(std::string_view kind) {
    std::optional<Expr> most;
    for (const Entry& entry : entries_)
      if ((kind.empty() || entry.kind == kind) && entry.growth != Growth::kFixed)
        most = most ? pool_.max(*most, tokens(entry, context_)) : tokens(entry, context_);
    return most ? *most : pool_.constant(0);
  }

  std::optional<Expr> quantity(std::string_view name) {
    if (name == kContext) return context_;
    if (name == "kv_elements") return elements({}, context_);
    if (name == "kv_elements_per_token") return per_token({});
    if (name == "kv_tokens") return most_tokens({});
    if (name == "kv_growth") return elements({}, context_ + 1) - elements({}, context_);
    if (name == "kv_growth_when_full") {
      Expr beyond = context_;
      for (const Entry& entry : entries_)
        if (entry.growth == Growth::kWindow) beyond = beyond + entry.amount;
      return elements({}, beyond + 1) - elements({}, beyond);
    }
    if (name == "state_elements") {
      Expr sum = pool_.constant(0);
      for (const Entry& entry : entries_)
        if (entry.growth == Growth::kFixed) sum = sum + entry.per_token;
      return sum;
    }
    const size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const std::string_view kind = name.substr(0, dot), part = name.substr(dot + 1);
    if (std::ranges::find(entries_, kind, &Entry::kind) == entries_.end()) return std::nullopt;
    if (part == "elements") return elements(kind, context_);
    if (part == "tokens") return most_tokens(kind);
    if (part == "per_token") return per_token(kind);
    return std::nullopt;
  }

  Expr value(const expr::Formula& formula, int scope) {
    return formula.instantiate(pool_, [&](std::string_view name) -> std::optional<Expr> {
      if (const std::optional<Expr> own = quantity(name)) return own;
      return lookup(name, scope);
    });
  }

  std::optional<Expr> lookup(std::string_view name, int scope) {
    for (int at = scope; at >= 0; at = tree_.scopes[at].parent)
      for (const spec::NamedFormula& named : tree_.scopes[at].names)
        if (named.name == name) return value(named.formula, tree_.scopes[at].parent);
    const std::optional<Expr> dim = analysis_.dim(name);
    return dim ? std::optional(expr::copy_to(*dim, pool_)) : std::nullopt;
  }

  std::optional<Rational> number_of(std::string_view name) const {
    for (const analysis::SymbolValue& symbol : symbols_)
      if (symbol.name == name) return symbol.value;
    return std::nullopt;
  }

  const Analysis& analysis_;
  const std::vector<analysis::SymbolValue>& symbols_;
  const graph::SpecTree& tree_;
  int call_;
  expr::ExprPool pool_;
  Expr context_;
  std::vector<Entry> entries_;
};

class Axioms {
 public:
  Axioms(const Analysis& analysis, Findings& out) : analysis_(analysis), out_(out) {}

  void run() {
    const graph::SpecTree& tree = *analysis_.tree;
    const std::vector<analysis::SymbolValue> symbols = analysis::symbol_values(analysis_);
    for (size_t id = 0; id < tree.calls.size(); ++id) {
      const graph::Call& call = tree.calls[id];
      Promises promises(analysis_, symbols, static_cast<int>(id));
      for (const spec::Component* component : {call.stored, call.component}) {
        if (component == call.stored && component->axioms.empty() && call.component->axioms.empty() &&
            !promises.keeps_nothing())
          advise(*component);
        for (const Axiom& axiom : component->axioms) hold(promises, axiom, *component, call.path);
        if (call.stored == call.component) break;
      }
    }
  }

 private:
  void advise(const spec::Component& component) {
    if (!said_.insert(component.name).second) return;
    out_.advice.push_back({component.at,
                           "component '" + component.name + "' keeps a cache and promises nothing of it",
                           "axioms: how its entries grow, and what caps them",
                           {},
                           "axiom"});
  }

  void say(base::Faults& to, const Axiom& axiom, const spec::Component& component, std::string why,
           std::string expected, std::string fix = {}) {
    const std::string wrong =
        "component '" + component.name + "' promises " + axiom.text + "; " + std::move(why);
    if (said_.insert(wrong).second) to.push_back({axiom.at, wrong, std::move(expected), std::move(fix), {}});
  }

  void hold(Promises& promises, const Axiom& axiom, const spec::Component& component,
            const std::string& path) {
    if (!axiom.when.empty()) {
      const std::optional<Rational> asked = promises.at(promises.value(axiom.when), 1);
      if (asked && asked->num == 0) return;
    }
    ++out_.checks;
    const Expr left = promises.value(axiom.left);
    const Expr right = axiom.right.empty() ? left : promises.value(axiom.right);
    for (const Expr& side : {left, right})
      if (side.is_error()) {
        const std::vector<std::string> names = promises.names();
        std::string fix;
        for (const expr::Formula* formula : {&axiom.left, &axiom.right})
          if (!formula->empty())
            for (const std::string& name : formula->names())
              if (fix.empty() && std::ranges::find(names, name) == names.end())
                fix = base::did_you_mean(name, names);
        say(out_.faults, axiom, component, side.error_text(), "quantities of its cache, and dims", fix);
        return;
      }
    if (proven(axiom, left, right) ||
        proven(axiom, promises.with_numbers(left), promises.with_numbers(right)))
      return;
    if (const std::string why = refuted(promises, axiom, left, right); !why.empty())
      say(out_.faults, axiom, component, "in " + path + " " + why, "a promise for every context length",
          "mend the cache, or the promise");
    else
      say(out_.open, axiom, component, "in " + path + " that is neither proven nor refuted",
          "a form that can be decided: one formula on both sides, or a bound");
  }

  static bool proven(const Axiom& axiom, Expr left, Expr right) {
    if (axiom.right.empty()) return internal::proven_constant(left, kContext);
    switch (axiom.relation) {
      case Axiom::Relation::kEqual:
        return internal::proven_equal(left, right);
      case Axiom::Relation::kAtMost:
        return internal::proven_at_most(left, right, false);
      case Axiom::Relation::kBelow:
        return internal::proven_at_most(left, right, true);
    }
    return false;
  }

  // A context length at which it fails; empty where none is found.
  static std::string refuted(Promises& promises, const Axiom& axiom, Expr left, Expr right) {
    std::optional<Rational> first;
    base::Int128 first_at = 0;
    for (const base::Int128 context : promises.contexts(axiom)) {
      const std::optional<Rational> a = promises.at(left, context), b = promises.at(right, context);
      if (!a || !b) continue;
      const std::string where = "at s_ctx = " + base::to_string(context);
      if (axiom.right.empty()) {
        if (!first) {
          first = a;
          first_at = context;
        } else if (!(*first == *a)) {
          return "it is " + expr::to_string(*first) + " at s_ctx = " + base::to_string(first_at) + " and " +
                 expr::to_string(*a) + " " + where;
        }
        continue;
      }
      const int order = expr::compare(*a, *b);
      const bool holds = axiom.relation == Axiom::Relation::kEqual    ? order == 0
                         : axiom.relation == Axiom::Relation::kAtMost ? order <= 0
                                                                      : order < 0;
      if (!holds)
        return "the left is " + expr::to_string(*a) + " and the right " + expr::to_string(*b) + " " + where;
    }
    return {};
  }

  const Analysis& analysis_;
  Findings& out_;
  std::set<std::string> said_;
};

}  // namespace

void check_axioms(const Subject& subject, Findings& out) {
  internal::check_computes(*subject.bill, out);
  internal::check_stores(*subject.bill, out);
  if (!subject.formulas) {
    out.ran = false;
    out.not_run = "the spec cannot be evaluated on symbols";
    return;
  }
  if (subject.bill->decodes()) Axioms(*subject.formulas->decode, out).run();
}

}  // namespace archlight::guard

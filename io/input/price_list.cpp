#include "io/input/price_list.h"

#include <utility>

#include "io/input/instance_names.h"
#include "text/csv.h"
#include "text/document.h"
#include "text/parse.h"

namespace trnplan::io {

namespace {

constexpr const char* kPriceFix = "write USD per node and hour, for example 38.2/h";

/// Adds entries one by one, with a fault at the place of each that is wrong.
class Adder {
 public:
  Adder(PriceList& prices, const Catalog& catalog, std::vector<Diagnostic>& faults)
      : prices_(prices), catalog_(catalog), faults_(faults) {}

  void add(const SourcePos& at, const std::string& key, const std::string& name, std::string_view price) {
    const std::string type = type_called(name, catalog_).name;
    const auto usd = parse_usd_per_hour(price);
    if (type.empty()) {
      fault(at, key, "unknown instance type " + in_quotes(name), instance_fix(name, catalog_.instances()));
    } else if (!usd) {
      fault(at, key, in_quotes(std::string(price)) + " is not a price", kPriceFix);
    } else if (!prices_.emplace(type, *usd).second) {
      fault(at, key, type + " has two prices", "state one price for each type");
    }
  }

 private:
  void fault(const SourcePos& at, const std::string& key, std::string problem, std::string fix) {
    faults_.push_back({at, key, std::move(problem), std::move(fix)});
  }

  PriceList& prices_;
  const Catalog& catalog_;
  std::vector<Diagnostic>& faults_;
};

PriceList prices_from_table(const std::string& text, const std::string& name, const Catalog& catalog) {
  PriceList prices;
  std::vector<Diagnostic> faults;
  Adder adder(prices, catalog, faults);
  CsvReader csv(text, name, {"instance", "usd_per_hour"}, "for example: instance,usd_per_hour");
  while (csv.next())
    adder.add(csv.at("instance"), "instance", std::string(csv.text("instance")), csv.text("usd_per_hour"));
  for (Diagnostic& d : csv.take_faults()) faults.push_back(std::move(d));
  if (!faults.empty()) throw InputError(std::move(faults));
  return prices;
}

}  // namespace

bool is_price_file(const std::string& text) {
  return !text.empty() && text.find('=') == std::string::npos;
}

PriceList prices_from_list(const std::string& text, const Catalog& catalog, std::vector<Diagnostic>& faults) {
  PriceList prices;
  Adder adder(prices, catalog, faults);
  for (const std::string& part : comma_parts(text)) {
    const std::size_t equals = part.find('=');
    const std::string name = part.substr(0, equals);
    adder.add({"command line", 0, 0}, "--price", name,
              equals == std::string::npos ? std::string() : part.substr(equals + 1));
  }
  return prices;
}

PriceList prices_from_text(const std::string& text, const std::string& name, const Catalog& catalog) {
  if (name.ends_with(".csv")) return prices_from_table(text, name, catalog);
  const Node root = parse_document(text, name);
  PriceList prices;
  std::vector<Diagnostic> faults;
  if (!root.is_map() || root.entries.empty())
    faults.push_back(
        {root.at, "", "a map of types and prices was expected", "write TYPE: USD/h, a line each"});
  Adder adder(prices, catalog, faults);
  for (const Node::Entry& e : root.entries) {
    const bool scalar = e.value.kind == Node::Kind::scalar;
    adder.add(scalar ? e.value.at : e.key_at, e.key, e.key, scalar ? e.value.scalar : std::string());
  }
  if (!faults.empty()) throw InputError(std::move(faults));
  return prices;
}

}  // namespace trnplan::io

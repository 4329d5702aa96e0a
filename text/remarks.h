// What a function has to say beside its result, in order.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/diagnostic.h"

namespace trnplan {

/// A sentence, or a fault that does not end the work, with its place and fix.
using Remark = std::variant<std::string, Diagnostic>;

/// Collects remarks. They stay when the function that made them throws; a listener gets each as it is made, which
/// matters where work of minutes follows.
class Remarks {
 public:
  Remarks() = default;
  explicit Remarks(std::function<void(const Remark&)> listener) : listener_(std::move(listener)) {}

  void add(Remark remark) {
    all_.push_back(std::move(remark));
    if (listener_) listener_(all_.back());
  }
  void add(const std::vector<std::string>& sentences) {
    for (const std::string& s : sentences) add(Remark(s));
  }
  [[nodiscard]] const std::vector<Remark>& all() const { return all_; }

 private:
  std::vector<Remark> all_;
  std::function<void(const Remark&)> listener_;
};

}  // namespace trnplan

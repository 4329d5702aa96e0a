// Files of the catalogue that no other target reads: models, the words of tables, rules for rows,
// recommendations, and durations of measurements.
#include <cmath>

#include "io/catalog/architecture_reader.h"
#include "io/catalog/measuring.h"
#include "io/catalog/neuron_releases.h"
#include "io/catalog/reading.h"
#include "io/catalog/recommending.h"
#include "io/catalog/reliability.h"
#include "io/catalog/scoring.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

using namespace trnplan;

void fuzz::catalog_file_target(const std::uint8_t* data, std::size_t size) {
  static const planner::Reliability reliability =
      io::reliability_from(read_document(fuzz::catalog().file("reliability.json")));
  const std::string text = fuzz::text_of(data, size);
  fuzz::refusable([&] {
    const Node root = parse_document(text, "file.json");
    fuzz::refusable([&] {
      for (const calibrate::LayoutRule& rule : io::scoring_from(root).rules)
        fuzz::ensure(rule.vocabulary >= 0 && rule.vocabulary_multiple >= 1, "a vocabulary is counted");
    });
    fuzz::refusable([&] { (void)io::reading_from(root); });
    fuzz::refusable([&] {
      const models::NeuronReleases releases = io::neuron_releases_from(root);
      fuzz::ensure(releases.releases.empty() || models::nearest_release(releases, "2.28") != nullptr,
                   "a release is the nearest");
    });
    fuzz::refusable([&] { (void)io::recommending_from(root); });
    fuzz::refusable([&] { (void)io::measuring_from(root, reliability); });
    fuzz::refusable([&] { (void)io::network_spreads_from(root); });
    fuzz::refusable(
        [&] { fuzz::ensure(models::parameters(io::architecture_from(root)) > 0, "a model has parameters"); });
  });
}

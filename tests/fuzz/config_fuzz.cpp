// An HF config.json, read, written and read back.
#include "io/input/readers.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"
#include "tests/io/same_model.h"

using namespace trnplan;

namespace {

/// What hf_config_json promises to keep.
bool same(const models::Architecture& a, const models::Architecture& b) {
  return models::same_model(a, b) && a.rope_scaling == b.rope_scaling;
}

}  // namespace

void fuzz::config_target(const std::uint8_t* data, std::size_t size) {
  const fuzz::InMemory files({{"config.json", fuzz::text_of(data, size)}});
  fuzz::refusable([&] {
    const io::ArchitectureReading reading = io::read_hf_config("config.json", files);
    for (const std::string& note : reading.notes)
      fuzz::ensure(fuzz::is_printable(note), "a note is safe to print");
    fuzz::ensure(models::parameters(reading.architecture) > 0, "a model has parameters");
    fuzz::ensure(
        models::active_parameters(reading.architecture) > 0 &&
            models::active_parameters(reading.architecture) <= models::parameters(reading.architecture),
        "a token meets some of them");
    if (!reading.architecture.blocks.untimed.empty()) return;  // counted, and never written
    models::Architecture a = reading.architecture;
    a.source_config.clear();
    const std::string text = io::hf_config_json(a);
    try {
      const models::Architecture back =
          io::hf_config_from(parse_document(text, "config.json"), a.name).architecture;
      fuzz::ensure(same(a, back), "the model reads back as it was: " + text);
    } catch (const InputError& e) {
      fuzz::ensure(false, e.what() + (" in " + text));
    }
  });
}

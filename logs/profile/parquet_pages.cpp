#include "logs/profile/parquet_pages.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include "logs/profile/thrift.h"
#include "text/gzip_stream.h"
#include "text/wire_reader.h"

namespace trnplan::logs {

namespace {

constexpr std::int64_t kPage = std::int64_t{64} << 20;
constexpr std::int64_t kHeldPages = std::int64_t{192} << 20;
/// Bytes read and unpacked: of any file, and more of them by byte.
constexpr std::int64_t kWork = std::int64_t{1} << 30, kWorkByByte = 200;
constexpr std::size_t kHeaderFirst = 256, kHeaderMost = std::size_t{1} << 20;
constexpr int kDataPage = 0, kIndexPage = 1, kDictionaryPage = 2, kDataPageV2 = 3;

}  // namespace

ParquetBudget::ParquetBudget(std::uint64_t file_bytes) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max() / (4 * kWorkByByte);
  work_ = kWork + kWorkByByte * static_cast<std::int64_t>(std::min(file_bytes, kMost));
}

bool ParquetBudget::spend(std::int64_t bytes) {
  work_ -= bytes;
  return work_ >= 0;
}

bool ParquetBudget::hold(std::int64_t bytes) {
  if (bytes > kHeldPages - held_) return false;
  held_ += bytes;
  return true;
}

bool is_read(ParquetCodec codec) {
  using enum ParquetCodec;
  return codec == none || codec == snappy || codec == gzip || codec == zstd;
}

bool unpack(int codec, std::string_view packed, std::size_t size, std::string& out) {
  out.assign(size, '\0');
  switch (static_cast<ParquetCodec>(codec)) {
    case ParquetCodec::none:
      out = packed;
      return packed.size() == size;
    case ParquetCodec::snappy: {
      std::size_t stated = 0;
      return snappy::GetUncompressedLength(packed.data(), packed.size(), &stated) && stated == size &&
             snappy::RawUncompress(packed.data(), packed.size(), out.data());
    }
    case ParquetCodec::gzip: {
      TextStream bytes(packed);
      GzipStream stream(bytes, "");
      char more = 0;
      std::size_t got = 0;
      while (got < size) {
        const std::size_t count = stream.read(out.data() + got, size - got);
        if (count == 0) break;
        got += count;
      }
      return got == size && stream.read(&more, 1) == 0 && !stream.fault();
    }
    case ParquetCodec::zstd:
      return ZSTD_decompress(out.data(), size, packed.data(), packed.size()) == size;
    case ParquetCodec::lzo:
    case ParquetCodec::brotli:
    case ParquetCodec::lz4:
    case ParquetCodec::lz4_raw:
      return false;
  }
  return false;
}

void ColumnReader::open(const ParquetChunk& chunk) {
  chunk_ = chunk;
  at_ = chunk.offset;
  end_ = chunk.offset + chunk.bytes;
  values_left_ = chunk.values;
  in_page_ = 0;
  dictionary_ = {};
  budget_->release(std::exchange(dictionary_held_, 0));
}

bool ColumnReader::fail(std::string problem) {
  problem_ = std::move(problem);
  return false;
}

bool ColumnReader::read_header(Header& h, std::int64_t& length) {
  for (std::size_t most = kHeaderFirst; most <= kHeaderMost; most *= 4) {
    const auto there =
        static_cast<std::size_t>(std::min<std::int64_t>(static_cast<std::int64_t>(most), end_ - at_));
    if (there == 0 || !budget_->spend(static_cast<std::int64_t>(there)) ||
        !read_at(*file_, static_cast<std::uint64_t>(at_), there, budget_->packed)) {
      return false;
    }
    h = {};
    ThriftReader thrift(budget_->packed);
    const auto data_page = [&](int field) {
      if (field == 1) h.values = thrift.number();
      if (field == 2) h.encoding = thrift.number();
      if (field == 3 && h.type == kDataPage) h.levels = thrift.number();
    };
    thrift.structure([&](int field) {
      if (field == 1) h.type = thrift.number();
      if (field == 2) h.size = thrift.number();
      if (field == 3) h.packed = thrift.number();
      if (field == 4) h.crc = static_cast<std::uint32_t>(thrift.number());
      if (field == 5 || field == 7) thrift.structure(data_page);
      if (field != 8) return;
      h.second = true;
      thrift.structure([&](int entry) {
        if (entry == 1) h.values = thrift.number();
        if (entry == 4) h.encoding = thrift.number();
        if (entry == 5) h.level_bytes = thrift.number();
        if (entry == 6) h.repetition_bytes = thrift.number();
        if (entry == 7) h.is_packed = thrift.truth();
      });
    });
    length = static_cast<std::int64_t>(thrift.offset());
    h.second = h.second && h.type == kDataPageV2;
    if (!thrift.failed()) return true;
    if (there < most) return false;
  }
  return false;
}

/// Reads the bytes behind a header and unpacks them; the levels of a page of version 2 are not packed.
bool ColumnReader::read_page(const Header& h, std::string& out) {
  const std::int64_t plain = h.second ? h.repetition_bytes + h.level_bytes : 0;
  const auto level_bytes = static_cast<std::size_t>(plain);
  if (!read_at(*file_, static_cast<std::uint64_t>(at_), static_cast<std::size_t>(h.packed),
               budget_->packed)) {
    return fail("a page is cut off");
  }
  const std::string_view packed = budget_->packed;
  at_ += h.packed;
  if (h.crc >= 0 &&
      static_cast<std::uint32_t>(h.crc) !=
          crc32(0, reinterpret_cast<const Bytef*>(packed.data()), static_cast<uInt>(packed.size()))) {
    return fail("the checksum of a page is wrong");
  }
  const std::string_view body = packed.substr(level_bytes);
  const auto size = static_cast<std::size_t>(h.size - plain);
  // A page without values may have no bytes to unpack.
  const bool as_it_is = !h.is_packed || (body.empty() && size == 0);
  if (!unpack(as_it_is ? 0 : chunk_.codec, body, size, out)) {
    return fail(fmt::format("a page of {} is damaged", codec_name(chunk_.codec)));
  }
  out.insert(0, packed.substr(0, level_bytes));
  return true;
}

bool ColumnReader::open_dictionary(const Header& h) {
  budget_->release(std::exchange(dictionary_held_, 0));
  std::string bytes;
  if (!read_page(h, bytes)) return false;
  const auto plain = static_cast<int>(ParquetEncoding::plain);
  if (h.encoding != plain && h.encoding != static_cast<int>(ParquetEncoding::plain_dictionary)) {
    return fail("its dictionary is encoded as " + encoding_name(h.encoding) + ", which is not read");
  }
  if (!dictionary_.read(static_cast<ParquetType>(column_.type), std::move(bytes), h.values)) {
    return fail("its dictionary is damaged");
  }
  dictionary_held_ = dictionary_.held();
  return budget_->hold(dictionary_held_) || fail("its dictionary is too large");
}

bool ColumnReader::open_values(const Header& h) {
  budget_->release(std::exchange(page_held_, 0));
  if (h.values > values_left_) return fail("its pages have more values than it has rows");
  if (!read_page(h, page_)) return false;
  // Lengths of texts are held too.
  page_held_ =
      static_cast<std::int64_t>(page_.capacity()) + 2 * static_cast<std::int64_t>(sizeof(int)) * h.values;
  if (!budget_->hold(page_held_)) {
    page_held_ = 0;
    return fail("its pages are too large");
  }
  std::string_view rest = page_;
  levels_stated_ = column_.optional;
  if (h.second) {
    // Some writers state levels of repetition though nothing is repeated.
    rest.remove_prefix(static_cast<std::size_t>(h.repetition_bytes));
    levels_ = RunReader(rest.substr(0, static_cast<std::size_t>(h.level_bytes)), 1);
    rest.remove_prefix(static_cast<std::size_t>(h.level_bytes));
  } else if (column_.optional) {
    if (h.levels != static_cast<int>(ParquetEncoding::rle)) {
      return fail("its definition levels are encoded as " + encoding_name(h.levels) + ", which is not read");
    }
    const std::size_t length = rest.size() < 4 ? rest.size() : little_endian<std::uint32_t>(rest);
    if (rest.size() < 4 || length > rest.size() - 4) return fail("the levels of a page are damaged");
    levels_ = RunReader(rest.substr(4, length), 1);
    rest.remove_prefix(4 + length);
  }
  const auto encoding = static_cast<ParquetEncoding>(h.encoding);
  if (!is_read(static_cast<ParquetType>(column_.type), encoding)) {
    return fail("its values are encoded as " + encoding_name(h.encoding) + ", which is not read");
  }
  if (!reader_.open(static_cast<ParquetType>(column_.type), encoding, rest, dictionary_, h.values)) {
    return fail("a page is damaged");
  }
  in_page_ = h.values;
  values_left_ -= h.values;
  return true;
}

bool ColumnReader::next_page() {
  while (in_page_ == 0) {
    Header h;
    std::int64_t length = 0;
    if (values_left_ == 0 || at_ >= end_) return fail("it has fewer values than rows");
    if (!read_header(h, length)) return fail("the header of a page is damaged");
    at_ += length;
    if (h.packed < 0 || h.size < 0 || h.packed > end_ - at_ || h.level_bytes < 0 || h.repetition_bytes < 0 ||
        h.repetition_bytes + h.level_bytes > std::min(h.packed, h.size)) {
      return fail("the header of a page is damaged");
    }
    if (h.packed > kPage || h.size > kPage)
      return fail(fmt::format("a page is larger than {} MiB", kPage >> 20));
    if (!budget_->spend(h.packed + h.size)) return fail("its pages unpack to too many bytes");
    if (h.type == kIndexPage) {
      at_ += h.packed;
      continue;
    }
    if (h.values < 0) return fail("the header of a page is damaged");
    if (h.type == kDictionaryPage) {
      if (!open_dictionary(h)) return false;
    } else if (h.type == kDataPage || (h.type == kDataPageV2 && h.second)) {
      if (!open_values(h)) return false;
    } else {
      return fail("a page is of an unknown kind");
    }
  }
  return true;
}

bool ColumnReader::next() {
  if (in_page_ == 0 && !next_page()) return false;
  --in_page_;
  std::uint32_t level = 1;
  if (levels_stated_ && !levels_.next(level)) return fail("the levels of a page are damaged");
  if (level == 0) {
    value_.kind = ParquetValue::Kind::none;
    return true;
  }
  return reader_.next(value_) || fail("a page has fewer values than it states");
}

}  // namespace trnplan::logs

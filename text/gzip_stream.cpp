#include "text/gzip_stream.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include <zlib.h>

namespace trnplan {

namespace {

constexpr std::string_view kMagic = "\x1f\x8b";
constexpr std::size_t kPacked = std::size_t{64} * 1024;
constexpr int kGzipOnly = MAX_WBITS + 16;  ///< as inflateInit2() takes it

}  // namespace

bool is_gzip(std::string_view head) {
  return head.starts_with(kMagic);
}

struct GzipStream::Inflater {
  Inflater() {
    if (inflateInit2(&z, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&z); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  z_stream z{};
};

GzipStream::GzipStream(ByteStream& packed, std::string name)
    : packed_(packed), name_(std::move(name)), inflater_(std::make_unique<Inflater>()) {}

GzipStream::~GzipStream() = default;

bool GzipStream::refill() {
  buffer_.clear();
  if (!append_from(packed_, buffer_, kPacked)) return false;
  inflater_->z.next_in = reinterpret_cast<Bytef*>(buffer_.data());
  inflater_->z.avail_in = static_cast<uInt>(buffer_.size());
  return true;
}

void GzipStream::end(const char* problem, const char* fix) {
  ended_ = true;
  fault_ = Diagnostic{{name_, 0, 0}, "", problem, fix};
}

std::size_t GzipStream::read(char* out, std::size_t size) {
  z_stream& z = inflater_->z;
  const auto room = static_cast<uInt>(std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
  z.next_out = reinterpret_cast<Bytef*>(out);
  z.avail_out = room;
  while (!ended_ && z.avail_out > 0) {
    if (z.avail_in == 0 && !refill()) {
      if (within_) end("its gzip data are cut off", "copy the file again, or wait until it is written");
      ended_ = true;
      break;
    }
    // Zeros pad the last member, as tar writes it.
    if (!within_ && *z.next_in == 0 && z.total_in > 0) {
      ++z.next_in;
      --z.avail_in;
      continue;
    }
    within_ = true;
    const int state = inflate(&z, Z_NO_FLUSH);
    if (state == Z_STREAM_END) {
      within_ = false;
      const uLong before = z.total_in;
      inflateReset(&z);
      z.total_in = before;  // more than the first member
    } else if (state != Z_OK && state != Z_BUF_ERROR) {
      end("its gzip data are damaged", "copy the file again; gunzip -t tests it");
    }
  }
  return room - z.avail_out;
}

bool GzipStream::rewind() {
  if (!packed_.rewind()) return false;
  inflateReset(&inflater_->z);
  inflater_->z.avail_in = 0;
  buffer_.clear();
  fault_.reset();
  ended_ = within_ = false;
  return true;
}

}  // namespace trnplan

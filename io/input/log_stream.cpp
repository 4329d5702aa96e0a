#include "io/input/log_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text/diagnostic.h"

namespace trnplan::io {

namespace {

[[noreturn]] void refuse(const std::string& name, std::string problem, std::string fix) {
  throw InputError({{name, 0, 0}, "", std::move(problem), std::move(fix)});
}

[[noreturn]] void refuse_errno(const std::string& name, int code) {
  const char* fix = code == ENOENT || code == ENOTDIR ? "check the path; it is relative to the current folder"
                    : code == EACCES                  ? "make the file readable (chmod +r)"
                                                      : "check the file and its file system";
  refuse(name, std::string("cannot be read: ") + std::strerror(code), fix);
}

}  // namespace

LogStream::LogStream(const std::string& path) : name_(path) {
  struct stat status {};
  if (path == kStandardInput) {
    name_ = kStandardInputName;
    file_ = STDIN_FILENO;
    regular_ = ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode) && ::lseek(file_, 0, SEEK_CUR) == 0;
    return;
  }
  // Checked before opening, because opening a device may already have an effect.
  if (::stat(path.c_str(), &status) != 0) refuse_errno(name_, errno);
  if (S_ISDIR(status.st_mode))
    refuse(name_, "this is a folder, but a file was expected", "name a file in it");
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
    refuse(name_, "this is neither a file nor a pipe (a socket or device)",
           "save the text in a file and name that");
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) refuse_errno(name_, errno);
  regular_ = S_ISREG(status.st_mode);
}

LogStream::~LogStream() {
  if (file_ > STDIN_FILENO) ::close(file_);
}

std::size_t LogStream::read(char* out, std::size_t size) {
  ssize_t got = -1;
  do {
    got = ::read(file_, out, size);
  } while (got < 0 && errno == EINTR);
  if (got < 0) refuse_errno(name_, errno);
  const auto count = static_cast<std::size_t>(got);
  // Bytes that are read again after rewind() are hashed once.
  if (at_ + count > hashed_ && at_ <= hashed_) {
    const auto known = static_cast<std::size_t>(hashed_ - at_);
    hash_.add({out + known, count - known});
    hashed_ = at_ + count;
  }
  at_ += count;
  return count;
}

bool LogStream::rewind() {
  return seek(0);
}

bool LogStream::seek(std::uint64_t offset) {
  if (!regular_ || ::lseek(file_, static_cast<off_t>(offset), SEEK_SET) < 0) return false;
  at_ = offset;
  return true;
}

std::optional<std::uint64_t> LogStream::size() const {
  struct stat status {};
  if (!regular_ || ::fstat(file_, &status) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

std::string LogStream::at_start(std::size_t bytes) const {
  std::string text(bytes, '\0');
  const ssize_t got = ::pread(file_, text.data(), bytes, 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::string LogStream::sha256() {
  std::string rest;
  if (at_ > hashed_) seek(hashed_);
  while (append_from(*this, rest)) rest.clear();
  return hash_.digits();
}

std::vector<std::string> hashes_of_starts(const std::string& path, const std::vector<std::uint64_t>& bytes) {
  std::vector<std::string> hashes(bytes.size());
  struct stat status {};
  if (path == kStandardInput || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return hashes;
  LogStream stream(path);
  std::string chunk(std::size_t{1} << 16, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    while (stream.offset() < bytes[i]) {
      const std::uint64_t left = bytes[i] - stream.offset();
      if (stream.read(chunk.data(), static_cast<std::size_t>(std::min<std::uint64_t>(left, chunk.size()))) ==
          0)
        return hashes;
    }
    hashes[i] = stream.hash_so_far();
  }
  return hashes;
}

}  // namespace trnplan::io

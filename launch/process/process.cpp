#include "launch/process/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

extern char** environ;

namespace trnplan::launch {

namespace {

[[noreturn]] void give_up(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

struct Pipe {
  Descriptor read, write;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) give_up("pipe");
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

/// Actions of the child on its descriptors; frees itself.
class Actions {
 public:
  Actions() { posix_spawn_file_actions_init(&actions_); }
  ~Actions() { posix_spawn_file_actions_destroy(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  void send(int ours, int theirs) { posix_spawn_file_actions_adddup2(&actions_, ours, theirs); }
  void no_input() { posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::vector<char*> environment_without(const std::vector<std::string>& unset) {
  std::vector<char*> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const bool dropped = std::any_of(unset.begin(), unset.end(), [&](const std::string& name) {
      return text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=';
    });
    if (!dropped) kept.push_back(*variable);
  }
  kept.push_back(nullptr);
  return kept;
}

/// Appends what can be read; false at the end of the stream. Beyond the limit it reads and discards, so that
/// the program is not blocked.
bool take(const Descriptor& from, std::string& text) {
  std::array<char, 1 << 16> buffer;
  const ssize_t count = ::read(from.get(), buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  const std::size_t room = kMostOutput - std::min(kMostOutput, text.size());
  text.append(buffer.data(), std::min(room, static_cast<std::size_t>(count)));
  return count > 0;
}

using Clock = std::chrono::steady_clock;

/// Reads until both streams end; false if `end` comes first.
bool drain(Descriptor& output, Descriptor& error, const std::optional<Clock::time_point>& end,
           ProcessResult& result) {
  while (output.get() >= 0 || error.get() >= 0) {
    int wait = -1;
    if (end) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end - Clock::now()).count();
      if (left <= 0) return false;
      wait = static_cast<int>(left);
    }
    std::array<pollfd, 2> waiting = {{{output.get(), POLLIN, 0}, {error.get(), POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), wait) < 0) {
      if (errno == EINTR) continue;
      give_up("poll");
    }
    if (waiting[0].revents != 0 && !take(output, result.output)) output.close();
    if (waiting[1].revents != 0 && !take(error, result.error)) error.close();
  }
  return true;
}

int exit_code_of(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) give_up("waitpid");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ProcessResult run_program(const std::vector<std::string>& arguments, const ProcessOptions& options) {
  std::vector<char*> words;
  for (const std::string& a : arguments) words.push_back(const_cast<char*>(a.c_str()));
  words.push_back(nullptr);
  std::vector<char*> environment = environment_without(options.unset);
  Actions actions;
  actions.no_input();
  if (options.held >= 0) actions.send(options.held, options.held);  // onto itself: no longer closed on exec
  Pipe output, error;
  if (options.capture) {
    output = make_pipe();
    error = make_pipe();
    actions.send(output.write.get(), STDOUT_FILENO);
    actions.send(error.write.get(), STDERR_FILENO);
  }
  ProcessResult result;
  pid_t child = 0;
  const int fault =
      ::posix_spawnp(&child, words[0], actions.get(), nullptr, words.data(), environment.data());
  if (fault == ENOENT || fault == EACCES || fault == ENOEXEC || fault == ENOTDIR) {
    result.error = std::strerror(fault);
    return result;
  }
  if (fault != 0) throw std::system_error(fault, std::generic_category(), "posix_spawn");
  result.started = true;
  output.write.close();
  error.write.close();
  std::optional<Clock::time_point> end;
  if (options.seconds > 0) end = Clock::now() + std::chrono::seconds(options.seconds);
  // Waits for a program that closes its streams and stays; the programs called here do not.
  result.late = !drain(output.read, error.read, end, result);
  if (result.late) {
    ::kill(child, SIGKILL);
    result.error += std::to_string(options.seconds) + " s passed without an answer";
  }
  result.code = exit_code_of(child);
  return result;
}

}  // namespace trnplan::launch

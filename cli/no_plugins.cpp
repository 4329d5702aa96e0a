// In the program without shared libraries: SQLite could load extensions, which nobody asks it for, and a
// static glibc would look for this system's libraries to do it. There are none to load.
extern "C" {

void* dlopen(const char*, int) noexcept {
  return nullptr;
}
void* dlsym(void*, const char*) noexcept {
  return nullptr;
}
int dlclose(void*) noexcept {
  return 0;
}
char* dlerror() noexcept {
  static char said[] = "this program loads no libraries";
  return said;
}

}  // extern "C"

// Stubs for the program without shared libraries. SQLite could load extensions, which nobody requests, and a
// static glibc would look for this system's libraries to do so. None can be loaded.
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

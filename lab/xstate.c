/*
 * Lets the test machine's kernel run on processors whose registers it does not know.
 *
 * User Mode Linux 6.12 reserves 2,696 bytes for the extended registers of a process: all of them up to AVX-512. The
 * host's PTRACE_SETREGSET accepts nothing but the whole set, which has 11,008 bytes on a processor with AMX, and answers
 * EFAULT to the first process that is started. Loaded into that kernel's process (LD_PRELOAD), this ptrace() adds zeros
 * up to the length of the whole set. What it adds are registers that no process in the machine has, because it would
 * have to ask its kernel for them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

static char whole[65536];
/* Bytes of the host's whole set; 0 before the first request. */
static size_t length;

long ptrace(enum __ptrace_request request, ...) {
  static long (*next)(enum __ptrace_request, ...);
  va_list words;
  va_start(words, request);
  pid_t process = va_arg(words, pid_t);
  void *address = va_arg(words, void *);
  void *data = va_arg(words, void *);
  va_end(words);
  if (next == NULL) next = dlsym(RTLD_NEXT, "ptrace");
  if (request != PTRACE_SETREGSET || address != (void *)NT_X86_XSTATE) return next(request, process, address, data);

  if (length == 0) {
    struct iovec all = {whole, sizeof whole};
    long failed = next(PTRACE_GETREGSET, process, address, &all);
    if (failed != 0) return failed;
    length = all.iov_len;
    memset(whole, 0, sizeof whole);
  }
  const struct iovec *given = data;
  if (given->iov_len >= length) return next(request, process, address, data);
  memcpy(whole, given->iov_base, given->iov_len);
  struct iovec all = {whole, length};
  return next(request, process, address, &all);
}

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { tools } from './support.ts';

/** What a candidate may try, one mode per run. Prints "did" when it worked, "errno TEXT" when the system said no. */
export const hostileSource = String.raw`
#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <sched.h>

extern char** environ;
static int no() { std::printf("errno %s\n", std::strerror(errno)); return 0; }
static int did() { std::printf("did\n"); return 0; }

// Files below a folder that this process may open for writing, apart from its own processes' entries.
static void writable(const std::string& dir, int depth) {
  DIR* d = opendir(dir.c_str());
  if (!d) return;
  while (dirent* e = readdir(d)) {
    std::string name = e->d_name, path = dir + "/" + name;
    if (name == "." || name == ".." || (dir == "/proc" && (std::isdigit(name[0]) || name == "self" || name == "thread-self"))) continue;
    struct stat s;
    if (lstat(path.c_str(), &s) != 0 || S_ISLNK(s.st_mode)) continue;
    if (S_ISDIR(s.st_mode)) { if (depth > 0) writable(path, depth - 1); continue; }
    int fd = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0) { std::printf("%s\n", path.c_str()); close(fd); }
  }
  closedir(d);
}

int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "", arg = argc > 2 ? argv[2] : "", arg2 = argc > 3 ? argv[3] : "";
  if (mode == "read") {
    int fd = open(arg.c_str(), O_RDONLY);
    return fd < 0 ? no() : did();
  }
  if (mode == "write") {
    int fd = open(arg.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0) return no();
    return write(fd, "x", 1) == 1 ? did() : no();
  }
  if (mode == "unlink") return unlink(arg.c_str()) ? no() : did();
  if (mode == "rename") return rename(arg.c_str(), arg2.c_str()) ? no() : did();
  if (mode == "symlink") {
    if (symlink(arg.c_str(), arg2.c_str())) return no();
    int fd = open(arg2.c_str(), O_RDONLY);
    return fd < 0 ? no() : did();
  }
  if (mode == "mount") return mount("none", "/tmp", "tmpfs", 0, "") ? no() : did();
  if (mode == "userns") {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS)) return no();
    return mount("none", "/tmp", "tmpfs", 0, "") ? no() : did();
  }
  if (mode == "connect") {
    int s = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(std::atoi(arg2.c_str()));
    inet_pton(AF_INET, arg.c_str(), &to.sin_addr);
    return s < 0 || connect(s, reinterpret_cast<sockaddr*>(&to), sizeof to) ? no() : did();
  }
  if (mode == "unix") {
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::strncpy(to.sun_path, arg.c_str(), sizeof to.sun_path - 1);
    return s < 0 || connect(s, reinterpret_cast<sockaddr*>(&to), sizeof to) ? no() : did();
  }
  if (mode == "env") { for (char** e = environ; *e; ++e) std::printf("%s\n", *e); return 0; }
  if (mode == "writable") { writable("/proc", 6); writable("/sys", 4); writable("/dev", 2); writable("/etc", 3); return 0; }
  if (mode == "roots") { if (DIR* d = opendir("/")) { while (dirent* e = readdir(d)) std::printf("%s\n", e->d_name); } return 0; }
  if (mode == "killall") { kill(-1, SIGKILL); return did(); }
  if (mode == "signal") { raise(std::atoi(arg.c_str())); return 0; }
  if (mode == "exit") return std::atoi(arg.c_str());
  if (mode == "bomb") { for (;;) if (fork() < 0) usleep(1000); }
  if (mode == "daemon") {
    if (fork() == 0) { setsid(); if (fork() == 0) { signal(SIGTERM, SIG_IGN); signal(SIGHUP, SIG_IGN); for (;;) pause(); } _exit(0); }
    usleep(200000);
    return did();
  }
  if (mode == "sleep") { did(); std::fflush(stdout); for (;;) pause(); }
  if (mode == "shout") { std::string s(1 << 20, 'x'); for (int i = 0; i < 64; ++i) std::fwrite(s.data(), 1, s.size(), stdout); return 0; }
  if (mode == "shm") {
    std::string block(1 << 20, 'x');
    int fd = open("/dev/shm/fill", O_WRONLY | O_CREAT, 0600);
    if (fd < 0) return no();
    for (int i = 0; i < 4096; ++i) if (write(fd, block.data(), block.size()) < 0) { std::printf("stopped at %d MiB: ", i); return no(); }
    return did();
  }
  std::printf("unknown mode\n");
  return 2;
}
`;

/** Compiles the program into a folder; gives back its name there. */
export function hostileProgram(folder: string, name = 'hostile'): string {
  if (tools.cxx === null) throw new Error('these tests need g++');
  mkdirSync(folder, { recursive: true });
  const program = join(folder, name);
  if (!existsSync(program))
    execFileSync(tools.cxx, ['-std=c++17', '-O0', '-x', 'c++', '-', '-o', program], { input: hostileSource });
  return program;
}

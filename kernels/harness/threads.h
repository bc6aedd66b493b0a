// Host threads of this process, from /proc/self/task.
#pragma once

#include <dirent.h>

#include <cstdio>
#include <set>
#include <string>
#include <vector>

namespace cm {

/** Thread ids; empty where /proc is not mounted. */
inline std::set<std::string> threadIds() {
  std::set<std::string> ids;
  DIR* dir = opendir("/proc/self/task");
  if (!dir) return ids;
  while (const dirent* e = readdir(dir))
    if (e->d_name[0] != '.') ids.insert(e->d_name);
  closedir(dir);
  return ids;
}

/** Names (comm) of the threads in `after` that are not in `before`. */
inline std::vector<std::string> newThreadNames(const std::set<std::string>& before, const std::set<std::string>& after) {
  std::vector<std::string> names;
  for (const std::string& id : after) {
    if (before.count(id)) continue;
    char name[64] = "";
    if (FILE* f = std::fopen(("/proc/self/task/" + id + "/comm").c_str(), "r")) {
      if (std::fgets(name, sizeof name, f)) name[std::string(name).find_last_not_of('\n') + 1] = '\0';
      std::fclose(f);
    }
    names.push_back(name);
  }
  return names;
}

}  // namespace cm

import Foundation

/// How many files this program may have open: what runs a command needs some for each.
enum OpenFileLimit {
  /// What the program needs by itself: its journal, its display, its threads' events.
  private static let ownFiles = 32
  /// What a command needs: its log, its end, and the pipes through which it is started.
  private static let filesOfJob = 4

  /// Sees to it that commands can be started, before there is a run.
  ///
  /// A limit that is too low is raised, as far as the system lets the program do that: without files, a
  /// command can't be started, and its end can't be seen.
  ///
  /// - Parameter jobs: How many commands run at a time.
  /// - Throws: ``Complaint``, when the system allows less.
  static func check(jobs: Int) throws(Complaint) {
    #if canImport(Glibc)
    let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    let kind = RLIMIT_NOFILE
    #endif
    var limit = rlimit()
    guard getrlimit(kind, &limit) == 0 else { return }
    let needed = rlim_t(ownFiles + filesOfJob * jobs)
    if limit.rlim_cur >= needed { return }
    let most = limit.rlim_max
    if most >= needed {
      limit.rlim_cur = needed
      if setrlimit(kind, &limit) == 0 { return }
    }
    throw complaint(jobs: jobs, needed: Int(needed), most: Int(min(most, 1 << 30)))
  }

  private static func complaint(jobs: Int, needed: Int, most: Int) -> Complaint {
    let possible = (most - ownFiles) / filesOfJob
    let commands = jobs == 1 ? "a command needs" : "\(jobs) commands at a time need"
    let fewer = possible > 0 ? ", or give --jobs \(possible)" : ""
    return Complaint(
      .usage,
      "\(commands) \(needed) open files, and the system allows \(most): "
        + "raise that with “ulimit -n \(needed)”\(fewer)"
    )
  }
}

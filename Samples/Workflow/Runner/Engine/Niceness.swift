#if os(Linux)
import Subprocess
import SystemPackage

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The niceness of this process, for the commands that it starts.
///
/// On Linux each thread has its own. libdispatch sets that of its threads where it may, which is so for
/// root, and Subprocess starts all commands from one thread, which has that of the thread that happened
/// to need it first.
enum Niceness {
  /// `PRIO_PROCESS`, which Glibc declares as another type than it takes.
  private static let process: Int32 = 0

  /// Gives the thread that starts commands the niceness of the process.
  static let preparation = Task<Void, Never> {
    let ofProcess = getpriority(process, id_t(getpid()))
    // Makes the thread; there is no process, because a folder can't be executed.
    _ = try? await Subprocess.run(.path("/"), input: .none, output: .discarded, error: .discarded)
    let threads = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
    for thread in (threads ?? []).compactMap({ id_t($0) }) {
      setpriority(process, thread, ofProcess)
    }
  }
}
#endif

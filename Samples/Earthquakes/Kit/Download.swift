public import Foundation
import Synchronization

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Downloads what is at an address.
///
/// The bytes go to a temporary file piece by piece. The result is a view of that file, so memory needs to have
/// only the part that is being read. The file has no name: nothing is left of it when the data is released, or when
/// the process is killed.
///
/// Redirections are followed and nothing is cached. Cancelling the calling task ends the download.
///
/// - Parameters:
///   - url: The address, of the scheme `http` or `https`.
///   - timeout: How long the whole download may take.
///   - maximum: How many bytes there may be; the download ends as soon as there are more.
/// - Returns: The bytes that the server sent.
/// - Throws: A ``DownloadError`` if there is no answer in time or another one than a success, if there are too many
///   bytes, or if they can't be kept; a `CancellationError` if the task was cancelled.
public func download(
  _ url: URL,
  timeout: Duration,
  atMost maximum: Int64 = .max
)
  async throws -> Data
{
  guard ["http", "https"].contains(url.scheme?.lowercased()), url.host() != nil else {
    throw DownloadError.unsupported(url: url)
  }
  return try await withThrowingTaskGroup(of: Data?.self) { group in
    group.addTask { try await fetch(url, atMost: maximum) }
    group.addTask {
      try await Task.sleep(for: timeout)
      return nil
    }
    defer { group.cancelAll() }
    guard let data = try await group.next() ?? nil else {
      throw DownloadError.timedOut(url: url, after: timeout)
    }
    return data
  }
}

private func fetch(_ url: URL, atMost maximum: Int64) async throws -> Data {
  let receiver = try Receiver(url, maximum: maximum)
  let session = URLSession(configuration: .ephemeral, delegate: receiver, delegateQueue: nil)
  defer { session.invalidateAndCancel() }
  var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
  // The group above keeps the time; this one only has to be longer.
  request.timeoutInterval = 86_400
  let task = session.dataTask(with: request)
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      receiver.onEnd { result in continuation.resume(with: result) }
      task.resume()
    }
  } onCancel: {
    // Not left to the session: a cancel may come before the task is resumed.
    receiver.end(with: .failure(CancellationError()))
    task.cancel()
  }
}

/// Writes what a session receives to a file.
private final class Receiver: NSObject, URLSessionDataDelegate {
  private struct State {
    let file: UnnamedFile
    var error: (any Error)?
    var result: Result<Data, any Error>?
    var onEnd: (@Sendable (Result<Data, any Error>) -> Void)?
  }

  private let url: URL
  private let maximum: Int64
  private let state: Mutex<State>

  init(_ url: URL, maximum: Int64) throws {
    self.url = url
    self.maximum = maximum
    do {
      state = Mutex(State(file: try UnnamedFile()))
    } catch {
      throw DownloadError.cannotKeep(url: url, reason: "\(error)")
    }
  }

  /// Calls a closure with the bytes, or with the reason why there are none.
  func onEnd(_ body: @escaping @Sendable (Result<Data, any Error>) -> Void) {
    let result = state.withLock { state in
      if state.result == nil { state.onEnd = body }
      return state.result
    }
    if let result { body(result) }
  }

  /// Ends the download; the first end applies.
  func end(with result: Result<Data, any Error>) {
    let onEnd = state.withLock { state in
      if state.result == nil { state.result = result }
      defer { state.onEnd = nil }
      return state.onEnd
    }
    onEnd?(result)
  }

  func urlSession(
    _ session: URLSession,
    dataTask: URLSessionDataTask,
    didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    let problem: DownloadError? =
      if !(200..<300).contains(status) {
        .status(url: url, code: status)
      } else if response.expectedContentLength > maximum {
        .tooLarge(url: url, maximum: maximum)
      } else {
        nil
      }
    if let problem {
      state.withLock { $0.error = problem }
      // Foundation ignores the disposition on Linux.
      dataTask.cancel()
    }
    completionHandler(problem == nil ? .allow : .cancel)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isWanted = state.withLock { state in
      if state.error != nil { return false }
      if Int64(data.count) > maximum - state.file.count {
        state.error = DownloadError.tooLarge(url: url, maximum: maximum)
        return false
      }
      do {
        try state.file.append(data)
        return true
      } catch {
        state.error = DownloadError.cannotKeep(url: url, reason: "\(error)")
        return false
      }
    }
    if !isWanted { dataTask.cancel() }
  }

  func urlSession(
    _ session: URLSession,
    task: URLSessionTask,
    didCompleteWithError error: (any Error)?
  ) {
    end(with: state.withLock { result($0, error) })
  }

  private func result(_ state: State, _ error: (any Error)?) -> Result<Data, any Error> {
    // The own reason first: the session only says then that its task was cancelled.
    if let error = state.error { return .failure(error) }
    if let error {
      return .failure(DownloadError.noConnection(url: url, reason: error.localizedDescription))
    }
    do {
      return .success(try state.file.contents())
    } catch {
      return .failure(DownloadError.cannotKeep(url: url, reason: "\(error)"))
    }
  }
}

public import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Downloads what is at an address.
///
/// Redirections are followed and nothing is cached. Cancelling the calling task ends the download.
///
/// - Parameters:
///   - url: The address, of the scheme `http` or `https`.
///   - timeout: How long the whole download may take.
/// - Returns: The bytes that the server sent.
/// - Throws: A ``DownloadError`` if there is no answer in time or another one than a success, a
///   `CancellationError` if the task was cancelled.
public func download(_ url: URL, timeout: Duration) async throws -> Data {
  guard ["http", "https"].contains(url.scheme?.lowercased()), url.host() != nil else {
    throw DownloadError.unsupported(url: url)
  }
  return try await withThrowingTaskGroup(of: Data?.self) { group in
    group.addTask { try await fetch(url) }
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

private func fetch(_ url: URL) async throws -> Data {
  let session = URLSession(configuration: .ephemeral)
  defer { session.invalidateAndCancel() }
  var request = URLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData)
  // The group above keeps the time; this one only has to be longer.
  request.timeoutInterval = 86_400
  let answer: (Data, URLResponse)
  do {
    answer = try await session.data(for: request)
  } catch {
    try Task.checkCancellation()
    throw DownloadError.noConnection(url: url, reason: error.localizedDescription)
  }
  try Task.checkCancellation()
  let status = (answer.1 as? HTTPURLResponse)?.statusCode ?? 0
  guard (200..<300).contains(status) else { throw DownloadError.status(url: url, code: status) }
  return answer.0
}

#if canImport(Darwin) || canImport(FoundationNetworking)
import AdvancedOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct Refused: Error {
  let status: Int
}

func download(_ url: URL, to file: URL) -> ResultOperation<Void> {
  let retry = RetryPolicy.exponential(.seconds(1), jitter: true, attempts: 4)
    .when { error in
      guard let refused = error as? Refused else { return true }
      return refused.status >= 500
    }
    .attemptTimeout(.seconds(30))

  let download = ResultOperation(name: "download", retry: retry) {
    let (data, response) = try await URLSession.shared.data(from: url)
    if let status = (response as? HTTPURLResponse)?.statusCode, status != 200 {
      throw Refused(status: status)
    }
    try data.write(to: file, options: .atomic)
  }
  let folder = file.deletingLastPathComponent().path(percentEncoded: false)
  download.addCondition(FreeSpace(atLeast: 100_000_000, at: folder))
  return download
}
#endif

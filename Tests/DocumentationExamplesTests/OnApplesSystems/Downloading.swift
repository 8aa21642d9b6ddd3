#if canImport(Darwin) || canImport(FoundationNetworking)
import AdvancedOperations
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

struct Refused: Error { let status: Int }

func isTransient(_ error: any Error) -> Bool {
  switch error {
  case let refused as Refused:
    [408, 429].contains(refused.status) || (500...599).contains(refused.status)
  case let error as URLError:
    [
      .timedOut, .networkConnectionLost, .notConnectedToInternet, .cannotConnectToHost,
      .dnsLookupFailed,
    ].contains(error.code)
  default: error is OperationTimeout
  }
}

func download(_ url: URL, to file: URL) -> ResultOperation<Void> {
  let retry = RetryPolicy.exponential(.seconds(1)).jittered().attempts(4).when(isTransient)
  let download = ResultOperation(name: "download", retry: retry) {
    let (body, response) = try await URLSession.shared.download(from: url)
    if let status = (response as? HTTPURLResponse)?.statusCode, !(200..<300).contains(status) {
      throw Refused(status: status)
    }
    try? FileManager.default.removeItem(at: file)
    try FileManager.default.moveItem(at: body, to: file)
  }
  let folder = file.deletingLastPathComponent().path(percentEncoded: false)
  download.addCondition(FreeSpace(atLeast: 100_000_000, at: folder))
  return download
}
#endif

// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Declarations that stand for Apple's Foundation, to compile the examples of the documentation on Linux.
//
// They can't run. Signatures, `Sendable` and availability are those of Apple's documentation. Superclasses, such
// as `NSObject`, and declarations that no example needs are missing. The four classes that share a name with
// classes of this package are here, because they make an example ambiguous that mentions one of them.

@_exported import Dispatch

// MARK: Names that this package has, too

@available(macOS 10.5, iOS 2.0, tvOS 9.0, watchOS 2.0, *)
open class Operation: @unchecked Sendable {
  public init() {}
}

@available(macOS 10.6, iOS 4.0, tvOS 9.0, watchOS 2.0, *)
open class BlockOperation: Operation, @unchecked Sendable {
  public convenience init(block: @escaping @Sendable () -> Void) { fatalError() }
}

@available(macOS 10.5, iOS 2.0, tvOS 9.0, watchOS 2.0, *)
open class OperationQueue: @unchecked Sendable {
  open class var main: OperationQueue { fatalError() }
  public init() {}
}

@available(macOS 10.10, iOS 8.0, tvOS 9.0, watchOS 2.0, *)
public enum QualityOfService: Int, Sendable {
  case userInteractive = 0x21
  case userInitiated = 0x19
  case utility = 0x11
  case background = 0x09
  case `default` = -1
}

@available(macOS 10.9, iOS 7.0, tvOS 9.0, watchOS 2.0, *)
open class Progress: @unchecked Sendable {
  public init() {}
}

// MARK: Files

@available(macOS 10.0, iOS 2.0, tvOS 9.0, watchOS 2.0, *)
open class FileManager: @unchecked Sendable {
  open class var `default`: FileManager { fatalError() }

  open func removeItem(at URL: URL) throws { fatalError() }
  open func moveItem(at srcURL: URL, to dstURL: URL) throws { fatalError() }
}

@available(macOS 10.10, iOS 8.0, tvOS 9.0, watchOS 2.0, *)
public struct URL: Hashable, Sendable {
  public init?(string: __shared String) { fatalError() }

  public func deletingLastPathComponent() -> URL { fatalError() }

  @available(macOS 13.0, iOS 16.0, tvOS 16.0, watchOS 9.0, *)
  public func path(percentEncoded: Bool = true) -> String { fatalError() }
}

// MARK: URL loading

@available(macOS 10.10, iOS 8.0, tvOS 9.0, watchOS 2.0, *)
public struct URLError: Error, Hashable, Sendable {
  public struct Code: RawRepresentable, Hashable, Sendable {
    public static var timedOut: URLError.Code { Code(rawValue: -1001) }
    public static var cannotConnectToHost: URLError.Code { Code(rawValue: -1004) }
    public static var networkConnectionLost: URLError.Code { Code(rawValue: -1005) }
    public static var dnsLookupFailed: URLError.Code { Code(rawValue: -1006) }
    public static var notConnectedToInternet: URLError.Code { Code(rawValue: -1009) }

    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }
  }

  public var code: URLError.Code { fatalError() }
}

@available(macOS 10.10, iOS 8.0, tvOS 9.0, watchOS 2.0, *)
public struct URLRequest: Hashable, Sendable {
  public init(url: URL) { fatalError() }
}

@available(macOS 10.2, iOS 2.0, tvOS 9.0, watchOS 2.0, *)
open class URLResponse: @unchecked Sendable {
  public init() {}
}

@available(macOS 10.2, iOS 2.0, tvOS 9.0, watchOS 2.0, *)
open class HTTPURLResponse: URLResponse, @unchecked Sendable {
  open var statusCode: Int { fatalError() }
}

@available(macOS 10.9, iOS 7.0, tvOS 9.0, watchOS 2.0, *)
public protocol URLSessionDelegate: AnyObject, Sendable {}

@available(macOS 10.9, iOS 7.0, tvOS 9.0, watchOS 2.0, *)
public protocol URLSessionTaskDelegate: URLSessionDelegate {}

@available(macOS 10.9, iOS 7.0, tvOS 9.0, watchOS 2.0, *)
open class URLSession: @unchecked Sendable {
  open class var shared: URLSession { fatalError() }
}

@available(macOS 12.0, iOS 15.0, tvOS 15.0, watchOS 8.0, *)
extension URLSession {
  public func download(
    from url: URL,
    delegate: (any URLSessionTaskDelegate)? = nil
  ) async throws -> (URL, URLResponse) { fatalError() }

  public func download(
    for request: URLRequest,
    delegate: (any URLSessionTaskDelegate)? = nil
  ) async throws -> (URL, URLResponse) { fatalError() }
}

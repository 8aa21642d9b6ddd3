// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Declarations that stand for Apple's module `os`, to compile the examples of the documentation on Linux.
//
// They can't run. Signatures, `Sendable` and availability are those of Apple's documentation. Declarations that no
// example needs are missing.

// MARK: Messages

@available(macOS 11.0, iOS 14.0, tvOS 14.0, watchOS 7.0, *)
@frozen public struct OSLogPrivacy: Sendable {
  public static var auto: OSLogPrivacy { OSLogPrivacy() }
  public static var `public`: OSLogPrivacy { OSLogPrivacy() }
  public static var `private`: OSLogPrivacy { OSLogPrivacy() }
}

@available(macOS 11.0, iOS 14.0, tvOS 14.0, watchOS 7.0, *)
@frozen public struct OSLogStringAlignment: Sendable {
  public static var none: OSLogStringAlignment { OSLogStringAlignment() }
}

@available(macOS 11.0, iOS 14.0, tvOS 14.0, watchOS 7.0, *)
@frozen public struct OSLogInterpolation: StringInterpolationProtocol {
  public init(literalCapacity: Int, interpolationCount: Int) {}

  public mutating func appendLiteral(_ literal: String) {}

  public mutating func appendInterpolation(
    _ argumentString: @autoclosure @escaping () -> String,
    align: OSLogStringAlignment = .none,
    privacy: OSLogPrivacy = .auto
  ) {}
}

@available(macOS 11.0, iOS 14.0, tvOS 14.0, watchOS 7.0, *)
@frozen public struct OSLogMessage: ExpressibleByStringInterpolation {
  public init(stringInterpolation: OSLogInterpolation) {}
  public init(stringLiteral value: String) {}
}

@available(macOS 11.0, iOS 14.0, tvOS 14.0, watchOS 7.0, *)
@frozen public struct Logger: @unchecked Sendable {
  public init(subsystem: String, category: String) {}

  public func notice(_ message: OSLogMessage) {}
}

// MARK: Signposts

@available(macOS 10.14, iOS 12.0, tvOS 12.0, watchOS 5.0, *)
public struct OSSignpostID: Equatable, Sendable {
  public static let exclusive = OSSignpostID()
}

@available(macOS 12.0, iOS 15.0, tvOS 15.0, watchOS 8.0, *)
public typealias SignpostMetadata = OSLogMessage

@available(macOS 12.0, iOS 15.0, tvOS 15.0, watchOS 8.0, *)
public class OSSignpostIntervalState: @unchecked Sendable {
  public static func beginState(id: OSSignpostID) -> OSSignpostIntervalState { fatalError() }
}

@available(macOS 12.0, iOS 15.0, tvOS 15.0, watchOS 8.0, *)
public struct OSSignposter: @unchecked Sendable {
  public var isEnabled: Bool { false }

  public init(subsystem: String, category: String) {}
  public init(logger: Logger) {}

  public func makeSignpostID() -> OSSignpostID { fatalError() }
  public func makeSignpostID(from object: AnyObject) -> OSSignpostID { fatalError() }

  public func beginInterval(
    _ name: StaticString,
    id: OSSignpostID = .exclusive
  ) -> OSSignpostIntervalState { fatalError() }

  public func beginInterval(
    _ name: StaticString,
    id: OSSignpostID = .exclusive,
    _ message: SignpostMetadata
  ) -> OSSignpostIntervalState { fatalError() }

  public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState) {}

  public func endInterval(
    _ name: StaticString,
    _ state: OSSignpostIntervalState,
    _ message: SignpostMetadata
  ) {}

  public func emitEvent(
    _ name: StaticString,
    id: OSSignpostID = .exclusive,
    _ message: SignpostMetadata
  ) {}
}

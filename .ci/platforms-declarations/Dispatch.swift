// swift-format-ignore-file
// The part of Dispatch that Swift declares: Apple's overlay of the C headers, and the module of
// swift-corelibs-libdispatch on other systems, where the classes are declared here, too.
#if canImport(ObjectiveC)
@_exported import Dispatch
import Darwin
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

#if !canImport(ObjectiveC)
public class DispatchObject {
  public func setTarget(queue: DispatchQueue) {}
  public func activate() {}
  public func suspend() {}
  public func resume() {}
}
public class DispatchQueue: DispatchObject, @unchecked Sendable {
  public init(
    label: String, qos: DispatchQoS = .unspecified, attributes: Attributes = [],
    autoreleaseFrequency: AutoreleaseFrequency = .inherit, target: DispatchQueue? = nil
  ) {}
}
public class DispatchGroup: DispatchObject, @unchecked Sendable {
  public override init() {}
  public func enter() {}
  public func leave() {}
}
public class DispatchSemaphore: DispatchObject, @unchecked Sendable {
  public init(value: Int) {}
}
public class DispatchSource: DispatchObject, @unchecked Sendable {}
public protocol DispatchSourceProtocol {}
public protocol DispatchSourceRead: DispatchSourceProtocol {}
public protocol DispatchSourceSignal: DispatchSourceProtocol {}
public protocol DispatchSourceTimer: DispatchSourceProtocol {}
public func dispatchMain() -> Never { fatalError() }
#endif

public enum DispatchTimeoutResult: Sendable { case success, timedOut }

public struct DispatchTime: Comparable, Sendable {
  public let rawValue: UInt64
  public static func now() -> DispatchTime { fatalError() }
  public static let distantFuture = DispatchTime(uptimeNanoseconds: .max)
  public init(uptimeNanoseconds: UInt64) { rawValue = uptimeNanoseconds }
  public var uptimeNanoseconds: UInt64 { rawValue }
  public static func < (a: DispatchTime, b: DispatchTime) -> Bool { a.rawValue < b.rawValue }
}
public struct DispatchWallTime: Comparable, Sendable {
  public let rawValue: UInt64
  public static func now() -> DispatchWallTime { fatalError() }
  public static let distantFuture = DispatchWallTime(timespec: timespec())
  public init(timespec: timespec) { rawValue = 0 }
  public static func < (a: DispatchWallTime, b: DispatchWallTime) -> Bool { a.rawValue < b.rawValue }
}
@frozen public enum DispatchTimeInterval: Equatable, Sendable {
  case seconds(Int), milliseconds(Int), microseconds(Int), nanoseconds(Int), never
}
public func + (time: DispatchTime, interval: DispatchTimeInterval) -> DispatchTime { fatalError() }
public func - (time: DispatchTime, interval: DispatchTimeInterval) -> DispatchTime { fatalError() }
public func + (time: DispatchTime, seconds: Double) -> DispatchTime { fatalError() }
public func + (time: DispatchWallTime, interval: DispatchTimeInterval) -> DispatchWallTime { fatalError() }
public func + (time: DispatchWallTime, seconds: Double) -> DispatchWallTime { fatalError() }

public struct DispatchQoS: Equatable, Sendable {
  public enum QoSClass: Sendable { case background, utility, `default`, userInitiated, userInteractive, unspecified }
  public let qosClass: QoSClass
  public let relativePriority: Int
  public init(qosClass: QoSClass, relativePriority: Int) {
    self.qosClass = qosClass
    self.relativePriority = relativePriority
  }
  public static let unspecified = DispatchQoS(qosClass: .unspecified, relativePriority: 0)
  public static let background = DispatchQoS(qosClass: .background, relativePriority: 0)
  public static let utility = DispatchQoS(qosClass: .utility, relativePriority: 0)
  public static let `default` = DispatchQoS(qosClass: .default, relativePriority: 0)
  public static let userInitiated = DispatchQoS(qosClass: .userInitiated, relativePriority: 0)
  public static let userInteractive = DispatchQoS(qosClass: .userInteractive, relativePriority: 0)
}
public struct DispatchWorkItemFlags: OptionSet, Sendable {
  public let rawValue: UInt
  public init(rawValue: UInt) { self.rawValue = rawValue }
  public static let barrier = DispatchWorkItemFlags(rawValue: 1)
}
public class DispatchWorkItem {
  public init(qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], block: @escaping @convention(block) () -> Void) {}
  public func perform() {}
  @available(*, noasync, message: "Await a Task handle instead")
  public func wait() {}
  public func cancel() {}
  public var isCancelled: Bool { false }
}
public final class DispatchSpecificKey<T> { public init() {} }
extension DispatchSpecificKey: Sendable where T: Sendable {}

extension DispatchQueue {
  public struct Attributes: OptionSet, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static let concurrent = Attributes(rawValue: 1 << 1)
    public static let initiallyInactive = Attributes(rawValue: 1 << 2)
  }
  public enum AutoreleaseFrequency: Sendable { case inherit, workItem, never }
  @preconcurrency
  public class func concurrentPerform(iterations: Int, execute work: @Sendable (Int) -> Void) {}
  public class var main: DispatchQueue { fatalError() }
  public class func global(qos: DispatchQoS.QoSClass = .default) -> DispatchQueue { fatalError() }
  @preconcurrency
  public class func getSpecific<T: Sendable>(key: DispatchSpecificKey<T>) -> T? { nil }
  #if canImport(ObjectiveC)
  public convenience init(
    label: String, qos: DispatchQoS = .unspecified, attributes: Attributes = [],
    autoreleaseFrequency: AutoreleaseFrequency = .inherit, target: DispatchQueue? = nil
  ) { fatalError() }
  #endif
  public var label: String { "" }
  public func sync(execute workItem: DispatchWorkItem) {}
  public func async(execute workItem: DispatchWorkItem) {}
  public func async(group: DispatchGroup, execute workItem: DispatchWorkItem) {}
  @preconcurrency
  public func async(
    group: DispatchGroup? = nil, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
    execute work: @escaping @Sendable @convention(block) () -> Void
  ) {}
  public func sync<T>(execute work: () throws -> T) rethrows -> T { try work() }
  public func sync<T>(flags: DispatchWorkItemFlags, execute work: () throws -> T) rethrows -> T { try work() }
  @preconcurrency
  public func asyncAfter(
    deadline: DispatchTime, qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [],
    execute work: @escaping @Sendable @convention(block) () -> Void
  ) {}
  public func asyncAfter(deadline: DispatchTime, execute: DispatchWorkItem) {}
  public var qos: DispatchQoS { .unspecified }
  @preconcurrency
  public func getSpecific<T: Sendable>(key: DispatchSpecificKey<T>) -> T? { nil }
  @preconcurrency
  public func setSpecific<T: Sendable>(key: DispatchSpecificKey<T>, value: T?) {}
}
#if canImport(ObjectiveC)
@available(macOS 15.4, iOS 18.4, tvOS 18.4, watchOS 11.4, visionOS 2.4, *)
extension DispatchQueue: TaskExecutor {
  public func enqueue(_ job: UnownedJob) {}
  public func asUnownedTaskExecutor() -> UnownedTaskExecutor { fatalError() }
}
#endif
extension DispatchGroup {
  public func notify(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], queue: DispatchQueue,
    execute work: @escaping @convention(block) () -> Void
  ) {}
  public func notify(queue: DispatchQueue, work: DispatchWorkItem) {}
  @available(*, noasync, message: "Await a Task handle instead")
  public func wait() {}
  @available(*, noasync, message: "Await a Task handle instead")
  public func wait(timeout: DispatchTime) -> DispatchTimeoutResult { .success }
  @available(*, noasync, message: "Await a Task handle instead")
  public func wait(wallTimeout timeout: DispatchWallTime) -> DispatchTimeoutResult { .success }
}
extension DispatchSemaphore {
  @discardableResult public func signal() -> Int { 0 }
  @available(*, noasync, message: "Await a Task handle instead")
  public func wait() {}
  @available(*, noasync, message: "Await a Task handle instead")
  public func wait(timeout: DispatchTime) -> DispatchTimeoutResult { .success }
  @available(*, noasync, message: "Await a Task handle instead")
  public func wait(wallTimeout: DispatchWallTime) -> DispatchTimeoutResult { .success }
}
extension DispatchSourceProtocol {
  public typealias DispatchSourceHandler = @convention(block) () -> Void
  public func setEventHandler(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: Self.DispatchSourceHandler?
  ) {}
  public func setEventHandler(handler: DispatchWorkItem) {}
  public func setCancelHandler(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: Self.DispatchSourceHandler?
  ) {}
  public func setCancelHandler(handler: DispatchWorkItem) {}
  public func setRegistrationHandler(
    qos: DispatchQoS = .unspecified, flags: DispatchWorkItemFlags = [], handler: Self.DispatchSourceHandler?
  ) {}
  public func setRegistrationHandler(handler: DispatchWorkItem) {}
  public func activate() {}
  public func cancel() {}
  public func resume() {}
  public func suspend() {}
  public var handle: UInt { 0 }
  public var mask: UInt { 0 }
  public var data: UInt { 0 }
  public var isCancelled: Bool { false }
}
extension DispatchSource {
  public struct TimerFlags: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let strict = TimerFlags(rawValue: 1)
  }
  public class func makeReadSource(fileDescriptor: Int32, queue: DispatchQueue? = nil) -> any DispatchSourceRead { fatalError() }
  public class func makeSignalSource(signal: Int32, queue: DispatchQueue? = nil) -> any DispatchSourceSignal { fatalError() }
  public class func makeTimerSource(flags: TimerFlags = [], queue: DispatchQueue? = nil) -> any DispatchSourceTimer { fatalError() }
}
extension DispatchSourceTimer {
  public func schedule(
    deadline: DispatchTime, repeating interval: DispatchTimeInterval = .never,
    leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {}
  public func schedule(deadline: DispatchTime, repeating interval: Double, leeway: DispatchTimeInterval = .nanoseconds(0)) {}
  public func schedule(
    wallDeadline: DispatchWallTime, repeating interval: DispatchTimeInterval = .never,
    leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {}
}

public enum DispatchPredicate: Sendable {
  case onQueue(DispatchQueue)
  case onQueueAsBarrier(DispatchQueue)
  case notOnQueue(DispatchQueue)
}
@_transparent
public func dispatchPrecondition(condition: @autoclosure () -> DispatchPredicate) {}

// swift-format-ignore-file
// Apple's overlay of the Objective-C runtime.
@_exported import ObjectiveC

public func autoreleasepool<E: Error, Result: ~Copyable>(
  invoking body: () throws(E) -> Result
) throws(E) -> Result { try body() }

import CoreOperations

// The compiler wants subclasses to restate that they take care of their state. The classes of the
// listings were written before it did, and don't.

extension AsyncImageDownloadOperation: @unchecked Sendable {}
extension DataTransformOperation: @unchecked Sendable {}
extension DownloadOperation: @unchecked Sendable {}
extension ReducedDownloadOperation: @unchecked Sendable {}

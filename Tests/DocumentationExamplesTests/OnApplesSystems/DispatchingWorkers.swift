import AdvancedOperations
import Dispatch

struct OneThread: OperationExecutor {
  let queue = DispatchQueue(label: "import")
  func enqueue(_ worker: @escaping @Sendable () -> Void) { queue.async(execute: worker) }
}

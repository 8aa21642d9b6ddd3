import HTTPTypes
import Hummingbird
import Synchronization

/// Which methods there are at the paths of a router, for those who use another one.
final class MethodTable: Sendable {
  private let routes = Mutex<[(path: RouterPath, method: HTTPRequest.Method)]>([])

  /// Takes the routes of a router that has all of them.
  func set(_ routes: [Router<OrderContext>.RouteDescription]) {
    let gets = routes.filter { $0.method == .get }
    // The router answers them too, and doesn't list them.
    let heads = gets.map { ($0.path, HTTPRequest.Method.head) }
    self.routes.withLock { $0 = routes.map { ($0.path, $0.method) } + heads }
  }

  /// The methods at a path, in alphabetical order; none where there is nothing.
  func methods(of path: String) -> [HTTPRequest.Method] {
    let parts = path.split(separator: "/")
    return routes.withLock { routes in
      let methods = routes.filter { Self.matches($0.path, parts) }.map(\.method)
      return Set(methods).sorted { $0.rawValue < $1.rawValue }
    }
  }

  private static func matches(_ path: RouterPath, _ parts: [Substring]) -> Bool {
    let names = path.description.split(separator: "/")
    guard names.count == parts.count else { return false }
    return zip(names, parts).allSatisfy { name, part in
      name.hasPrefix(":") || name.hasPrefix("{") || name == part
    }
  }
}

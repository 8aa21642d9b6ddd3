import ArgumentParser
import Foundation
import NIOCore
import NIOPosix

/// Where a service is, or is to be.
enum ServiceAddress {
  /// Refuses what is no address of an HTTP service.
  ///
  /// - Parameters:
  ///   - option: The option, as it is written.
  ///   - text: Its value.
  /// - Throws: `ValidationError`.
  static func check(_ option: String, _ text: String) throws {
    let parts = URLComponents(string: text)
    let isRight =
      ["http", "https"].contains(parts?.scheme) && parts?.host?.isEmpty == false
      && parts?.path.isEmpty == true && parts?.query == nil
    if isRight { return }
    throw ValidationError(
      "\(option) is an address such as http://127.0.0.1:8081, without a path, and not “\(text)”."
    )
  }

  /// The URL of a place: an address of version 6 has brackets in it.
  static func url(host: String, port: Int) -> String {
    "http://\(host.contains(":") ? "[\(host)]" : host):\(port)"
  }

  /// Refuses a port that another program has.
  ///
  /// - Parameters:
  ///   - host: The address of this machine.
  ///   - port: The port; 0 is free.
  /// - Throws: `ValidationError`; what else keeps a program from listening there.
  static func checkFree(host: String, port: Int) throws {
    let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
    do {
      try bootstrap.bind(host: host, port: port).wait().close().wait()
    } catch let error as IOError where error.errnoCode == EADDRINUSE {
      throw ValidationError(
        "Port \(port) of \(host) is in use: stop the program that has it, or give another --port."
      )
    } catch is SocketAddressError {
      throw ValidationError("--host “\(host)” isn't an address of this machine.")
    } catch let error as IOError {
      let reason = String(cString: strerror(error.errnoCode))
      throw ValidationError("The service can't listen at \(host), port \(port): \(reason).")
    }
  }
}

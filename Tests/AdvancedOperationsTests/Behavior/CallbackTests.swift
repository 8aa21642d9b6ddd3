import AdvancedOperations
import AdvancedOperationsTesting
import AdvancedTestSupport
import Testing

/// Everything may be called from everywhere: nothing is told, asked or run with a lock held.
@Suite(.watched) struct `From every callback` {
  @Test(arguments: CallbackScene.Callback.allCases)
  func `every method of operation, group and queue has its effect`(
    callback: CallbackScene.Callback
  ) {
    for call in CallbackScene.calls {
      let scene = CallbackScene(callback, call)
      scene.play()
      #expect(scene.problems == [], "\(call.name) from \(callback)")
    }
  }
}

import Testing

@Suite(.serialized) struct CrashingTests {
    @Test func aFirst() {}
    @Test func ends() { fatalError("on purpose") }
    @Test func thenAnother() {}
}

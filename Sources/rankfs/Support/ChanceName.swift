/// A name that nobody else has, on this machine or another.
enum ChanceName {
    /// Letters and digits.
    static func make() -> String {
        var source = SystemRandomNumberGenerator()
        return String(source.next(), radix: 36)
    }
}

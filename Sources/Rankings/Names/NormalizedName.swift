@_spi(_Unicode) import Swift

/// Words that somebody typed or a service named, in the one spelling in which they are a key: Unicode's NFC.
///
/// macOS, Samba and copied text spell `ガ` as two scalars. To Swift both texts are equal; databases, stores and services
/// compare bytes.
package struct NormalizedName: Hashable, Sendable {
    /// In NFC.
    package let text: String

    /// The name of a text in any spelling.
    package init(_ text: String) {
        var scalars = String.UnicodeScalarView()
        for scalar in text._nfc { scalars.append(scalar) }
        self.text = String(scalars)
    }
}

extension NormalizedName: ExpressibleByStringLiteral {
    package init(stringLiteral text: String) {
        self.init(text)
    }
}

internal import Sourcing

/// The place of objects: a store, a bucket in it, and the common prefix of all keys.
package struct StorePlace: Hashable, Sendable {
    /// The two forms of an object's address (Amazon S3 User Guide, "Virtual hosting of buckets").
    package enum AddressForm: Hashable, Sendable {
        /// The bucket is the first part of the path: the only form that every store of one's own accepts.
        case path
        /// The bucket is the first part of the host's name: the form that Amazon recommends.
        case host
    }

    /// Scheme, host and port of all addresses, as in `https://pool.s3.eu-west-1.amazonaws.com`.
    package let origin: String
    package let bucket: String
    /// The prefix of all keys; nil for the whole bucket.
    package let prefix: ObjectKey?
    /// The store's name of its region; signatures are made for it.
    package let region: String
    /// The account that must own the bucket; nil for any.
    package let owner: String?
    /// The path of the bucket: empty if its name is a part of the host's.
    private let path: String

    /// The region that stores without regions accept.
    package static let standardRegion = "us-east-1"

    /// Makes a place.
    ///
    /// - Parameters:
    ///   - address: Bucket and prefix.
    ///   - origin: The store; nil for Amazon's in the region.
    ///   - region: Its region; nil for the standard one.
    ///   - form: The form of addresses; nil for the host's where the store is Amazon's and its certificate holds for the name.
    ///   - owner: The account that must own the bucket; the store refuses requests for another one's.
    package init(
        _ address: BucketAddress, origin: String?, region: String?, form: AddressForm? = nil, owner: String? = nil
    ) {
        bucket = address.bucket
        prefix = address.prefix
        self.region = region ?? Self.standardRegion
        self.owner = owner
        let isChinese = self.region.hasPrefix("cn-")
        let store = origin ?? "https://s3.\(self.region).amazonaws.com" + (isChinese ? ".cn" : "")
        // A certificate for `*.s3…` holds for one label, without dots (RFC 6125, section 6.4.3).
        let form = form ?? (origin == nil && !bucket.contains(".") ? .host : .path)
        switch form {
        case .path: (self.origin, path) = (store, "/\(bucket)")
        case .host:
            let scheme = store.prefix { $0 != ":" }
            (self.origin, path) = ("\(scheme)://\(bucket)." + store.dropFirst(scheme.count + 3), "")
        }
    }

    /// The bucket and the prefix, as users write them.
    package var address: String { "s3://\(bucket)" + (prefix.map { "/\($0)" } ?? "") }

    /// The address of an object.
    func url(of key: ObjectKey) -> String { origin + (path.isEmpty ? "/" : "\(path)/") + name(of: key) }

    /// The bucket and the name of an object in it.
    func path(of key: ObjectKey) -> String { "/\(bucket)/" + name(of: key) }

    private func name(of key: ObjectKey) -> String { (prefix.map { "\($0)/" } ?? "") + key.text }

    /// The address of a part of the list of objects.
    ///
    /// Names and values are in order and escaped, as the signature requires (AWS Signature Version 4, "canonical query string").
    func listURL(beginning: ObjectKey?, after token: String?) -> String {
        let begin = [prefix, beginning].compactMap { $0?.text }.joined(separator: "/")
        var query = token.map { "continuation-token=\(PercentCoding.encode($0))&" } ?? ""
        // A key of another program may have bytes that XML cannot hold.
        query += "encoding-type=url&list-type=2"
        if !begin.isEmpty { query += "&prefix=\(PercentCoding.encode(beginning == nil ? begin + "/" : begin))" }
        return "\(origin)\(path.isEmpty ? "/" : path)?\(query)"
    }

    /// The key without the prefix; nil for a key that is not below the prefix.
    func key(listed text: String) -> ObjectKey? {
        guard let prefix else { return ObjectKey(text) }
        guard text.hasPrefix(prefix.text + "/") else { return nil }
        return ObjectKey(String(text.dropFirst(prefix.text.count + 1)))
    }
}

/// The address `s3://BUCKET/PREFIX`, as users write it.
package struct BucketAddress: Hashable, Sendable {
    package let bucket: String
    package let prefix: ObjectKey?

    /// Reads an address.
    ///
    /// - Returns: Nil for any other text, and for invalid bucket names (Amazon S3 User Guide, "Bucket naming rules").
    package init?(_ text: String) {
        let scheme = "s3://"
        guard text.hasPrefix(scheme) else { return nil }
        var parts = text.dropFirst(scheme.count).split(separator: "/", omittingEmptySubsequences: false).map(
            String.init)
        if parts.count > 1, parts.last == "" { parts.removeLast() }
        guard let bucket = parts.first, (3...63).contains(bucket.utf8.count), bucket.first != "-", bucket.first != ".",
            bucket.last != "-", bucket.last != ".",
            bucket.utf8.allSatisfy({ (97...122).contains($0) || (48...57).contains($0) || $0 == 45 || $0 == 46 })
        else { return nil }
        self.bucket = bucket
        guard parts.count > 1 else {
            prefix = nil
            return
        }
        guard let prefix = ObjectKey(parts.dropFirst()) else { return nil }
        self.prefix = prefix
    }
}

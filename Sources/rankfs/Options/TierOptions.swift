import ObjectStore

/// The options of the shared tier.
enum TierOptions {
    static let all: [OptionDefinition] = [
        OptionDefinition(
            "tier", "s3://BUCKET/PREFIX", standard: "none",
            help: "a bucket on an object store where machines share what they download"
        ) { settings, text, _ throws(ExpectedValue) in
            guard text != "none" else {
                settings.tier = nil
                return
            }
            guard let address = BucketAddress(text) else {
                throw ExpectedValue("s3://BUCKET or s3://BUCKET/PREFIX, the prefix of letters, digits, - _ . and /")
            }
            settings.tier = address
        },
        OptionDefinition(
            "tier_url", "URL", standard: "Amazon's", help: "the object store, such as http://nas.local:8333",
            mayHoldSecret: true
        ) { settings, text, _ throws(ExpectedValue) in
            let url = try OptionTable.plainOrigin(text)
            guard url.text == url.origin || url.text.lowercased() == url.origin else {
                throw ExpectedValue("a URL without a path, such as http://nas.local:8333")
            }
            settings.tierURL = url
        },
        OptionDefinition(
            "tier_region", "NAME", standard: StorePlace.standardRegion, help: "what the store calls its region"
        ) { settings, text, _ throws(ExpectedValue) in
            guard (1...64).contains(text.utf8.count),
                text.utf8.allSatisfy({ (48...57).contains($0) || (97...122).contains($0) || $0 == 45 })
            else { throw ExpectedValue("the name of a region, such as eu-west-1") }
            settings.tierRegion = text
        },
        OptionDefinition(
            "tier_keys", "FILE", standard: "the AWS variables",
            help: "a file with aws_access_key_id and aws_secret_access_key, which nobody else may read",
            mayBeSecret: true
        ) { settings, text, context throws(ExpectedValue) in
            settings.tierKeys = try ValueParsers.path(text, relativeTo: context.directory, home: context.home)
        },
        OptionDefinition(
            "tier_private", "WORD", standard: "off",
            help: "whether your machines share what you are shown while signed in: on or off",
            words: [("on", true), ("off", false)], of: \.sharesPrivate),
    ]
}

/// How what stands in front of a service turns programs away.
package enum FrontRefusal: String, Hashable, Sendable {
    /// With a check that only a browser passes; it may come and go, and go for another User-Agent.
    case challenge = "challenged"
    /// For good: by its address, as a rule, so that no cookie helps.
    case block = "blocked"
}

/// Recognises answers that come from what stands in front of a service.
///
/// They are looked for before the status counts: a check comes with 403, 503 or 429, and who takes it for a limit and comes again
/// is blocked. The header is Cloudflare's ("Detect a Challenge Page response"), the marks of older pages are those that
/// gallery-dl's `detect_challenge` looks for; the pages of a block carry Cloudflare's own style sheet and numbers from 1000 to 1099.
package enum FrontPage {
    enum Look: Equatable {
        /// The service's own answer.
        case none
        case refusal(FrontRefusal)
        /// The text tells.
        case needsText
    }

    private static let challengeMarks = [
        "_cf_chl_opt", "jschl-answer", "captcha-bypass", "/ddos-guard/js-challenge/",
    ]
    private static let blockMarks = [
        "cf-error-details", "cf.errors.css", "error code: 10", "you have been blocked", "access denied",
        "access blocked",
    ]

    /// Which of the marks a text has.
    package static func marks(in text: String) -> [String] {
        let text = text.lowercased()
        return (challengeMarks + blockMarks).filter { text.contains($0) }
    }

    static func look(_ head: HTTPAnswer) -> Look {
        if head["cf-mitigated"]?.lowercased().contains("challenge") == true { return .refusal(.challenge) }
        guard [403, 429, 503].contains(head.status), head.isText, let server = head["server"]?.lowercased()
        else { return .none }
        if server.contains("ddos-guard") { return head.status == 403 ? .refusal(.challenge) : .needsText }
        return server.contains("cloudflare") ? .needsText : .none
    }

    /// What the text says of an answer whose head did not tell.
    static func refusal(_ head: HTTPAnswer, text: [UInt8]) -> FrontRefusal? {
        let text = String(decoding: text, as: UTF8.self).lowercased()
        if challengeMarks.contains(where: text.contains) { return .challenge }
        return head.status == 403 && blockMarks.contains(where: text.contains) ? .block : nil
    }
}

extension HTTPResponse {
    /// How this turns programs away, if it is no answer of the service itself.
    package var frontRefusal: FrontRefusal? {
        switch FrontPage.look(head) {
        case .none: nil
        case .refusal(let refusal): refusal
        case .needsText: FrontPage.refusal(head, text: body)
        }
    }
}

/// A pause after a refusal of what stands in front of a host.
package struct FrontStop: Hashable, Sendable {
    package var refusal: FrontRefusal
    /// How many such pauses there were before, one after the other.
    package var step: Int
    /// What it was asked with (`AskingMeans.mark`): with something else it is worth a try at once.
    package var mark: String

    package init(refusal: FrontRefusal, step: Int, mark: String) {
        self.refusal = refusal
        self.step = min(max(-1, step), Self.mostSteps)
        self.mark = mark
    }

    /// Half an hour, then twice as much, up to six hours.
    ///
    /// Clearances last for half an hour, and an address that goes on asking is blocked for good.
    var seconds: Int64 { min(Self.first << Int64(max(0, step)), Self.longest) }
    private static let first: Int64 = 1800
    private static let mostSteps = 8
    static let longest: Int64 = 6 * 3600
}

/// What hosts are asked with that a user may change while the program runs.
package struct AskingMeans: Hashable, Sendable {
    /// In place of the transport's User-Agent; nil for that one.
    package var userAgent: String?
    /// Tells it from other means; nothing secret.
    package var mark: String
    /// Cookies that prove a browser's check, which go to `site` until the next check; nil for none.
    package var clearance: String?
    /// A host with its port, as in `RequestQueue.host(of:)`.
    package var site: String

    package init(userAgent: String? = nil, mark: String = "", clearance: String? = nil, site: String = "") {
        self.userAgent = userAgent
        self.mark = mark
        self.clearance = clearance
        self.site = site
    }
}

/// Until when a host is left alone, as it is kept over restarts.
package struct HostPause: Hashable, Sendable {
    /// Unix seconds.
    package var end: Int64
    /// Nil for a pause that the host itself asked for.
    package var front: FrontStop?

    package init(end: Int64, front: FrontStop? = nil) {
        self.end = end
        self.front = front
    }

    /// When it began, in Unix seconds.
    package var began: Int64 { end &- (front?.seconds ?? 0) }
}

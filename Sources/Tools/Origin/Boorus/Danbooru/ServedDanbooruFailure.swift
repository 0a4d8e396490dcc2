import Rankings

/// Errors as Danbooru tells them (recorded: a page beyond 1000).
enum ServedDanbooruFailure: Sendable {
    case notFound
    case pageTooHigh
    case tooManyTags
    case tooOften
    case timeout

    /// The answer.
    var response: Response {
        .rails(
            .object([
                ("success", false), ("error", .text(name)), ("message", .text(message)),
                ("backtrace", .list(Self.backtrace.map(JSONText.text))),
            ]), status: status)
    }

    private var status: Int {
        switch self {
        case .notFound: 404
        case .pageTooHigh: 410
        case .tooManyTags: 422
        case .tooOften: 429
        case .timeout: 500
        }
    }

    private var name: String {
        switch self {
        case .notFound: "ActiveRecord::RecordNotFound"
        case .pageTooHigh: "PaginationExtension::PaginationError"
        case .tooManyTags: "PostQuery::TagLimitError"
        case .tooOften: "RateLimiter::RateLimitError"
        case .timeout: "ActiveRecord::QueryCanceled"
        }
    }

    private var message: String {
        switch self {
        case .notFound: "That record was not found."
        case .pageTooHigh: "You cannot go beyond page \(ServedDanbooru.mostPages)."
        case .tooManyTags: "You cannot search for more than \(ServedDanbooruSearch.mostTags) tags at a time."
        case .tooOften: "You're doing that too fast. Wait a minute and try again."
        case .timeout: "The database timed out running your query."
        }
    }

    private static let backtrace = [
        "app/controllers/posts_controller.rb:21:in 'PostsController#index'",
        "app/logical/rack_server_timing.rb:19:in 'RackServerTiming#call'",
    ]
}

import Dispatch
import Glibc
import System
import Synchronization

/// Decodes and encodes data from outside, in any process.
package protocol Rendering: Sendable {
    /// Does a job.
    ///
    /// - Parameters:
    ///   - job: The job.
    ///   - descriptor: The file of the job, open for reading only; the caller keeps it open.
    /// - Returns: The answer, which is no refusal.
    /// - Throws: The error of a refused job, or `.lost`, `.unavailable`.
    func perform(_ job: RenderJob, with descriptor: Int32?) async throws(MediaError) -> RenderAnswer
}

extension Rendering {
    /// The files that a job makes.
    package func files(_ job: RenderJob, with descriptor: Int32? = nil) async throws(MediaError) -> [[UInt8]] {
        guard case .files(let files) = try await perform(job, with: descriptor) else {
            throw .nonsense
        }
        return files
    }
}

/// Has jobs done by processes that have no network, no files and no secrets, and supervises these processes.
///
/// They are started with the first job, ended when they are idle, and killed when they exceed the time limit or send an invalid
/// answer. The failure of a process is an error of its current job only.
///
/// ## Concurrency
///
/// Any task may call. While a process has a job, a thread of the renderer's own queue waits for it. The mutex guards the plan and
/// the waiters; nothing is called under it.
package final class Renderer: Rendering {
    package struct Configuration: Sendable {
        /// Returns the path of `rankfs-render`; called for each start of a process.
        package var program: @Sendable () throws(MediaError) -> String
        /// Returns the time limit of a job.
        package var patience: @Sendable (RenderJob) -> Duration = { $0.patience }
        /// Runs a closure after a delay.
        package var later: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void = { duration, work in
            let milliseconds = Int(clamping: Int64(duration / .milliseconds(1)) + 1)
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: work)
        }
        /// The measures that must be in force; without them nothing is decoded.
        package var required: Protection
        /// Called once if a required measure is not in force, with the error that jobs get.
        package var report: @Sendable (MediaError) -> Void = { _ in }
        var limits = RenderPlan.Limits()

        package init(
            required: Protection = .calls, program: @escaping @Sendable () throws(MediaError) -> String, atOnce: Int
        ) {
            self.required = required
            self.program = program
            // At least two, so that an animation leaves room for thumbnails; more than four do not help readers.
            limits.atOnce = min(max(atOnce, 2), 4)
        }
    }

    private struct Pending {
        let job: RenderJob
        let descriptor: Int32?
        let continuation: CheckedContinuation<Result<RenderAnswer, MediaError>, Never>
    }

    private struct State {
        var plan: RenderPlan
        var pending: [Int: Pending] = [:]
        var lastJob = 0
        /// The living processes, by the plan's numbers.
        var processes: [Int: RenderProcess] = [:]
        /// Whether a process lacked a required measure: the next one would lack it too.
        var isUnconfined = false
    }

    /// The name of the program.
    package static let program = RenderProcess.program
    /// The descriptor of the program's end of the pipe with which it ends.
    package static let lifeline: Int32 = 4

    private let configuration: Configuration
    private let queue = DispatchQueue(label: "rankfs.render", qos: .userInitiated, attributes: .concurrent)
    private let state: Mutex<State>

    package init(_ configuration: Configuration) {
        self.configuration = configuration
        state = Mutex(State(plan: RenderPlan(configuration.limits)))
    }

    deinit {
        close()
    }

    package func perform(_ job: RenderJob, with descriptor: Int32?) async throws(MediaError) -> RenderAnswer {
        let result = await withCheckedContinuation { continuation in
            let actions = state.withLock { state in
                state.lastJob += 1
                state.pending[state.lastJob] = Pending(job: job, descriptor: descriptor, continuation: continuation)
                return state.plan.submit(state.lastJob, isLong: job.isLong, now: UptimeClock.now)
            }
            perform(actions)
        }
        return try result.get()
    }

    /// Ends every process, also those with a job; waiting jobs are refused.
    package func close() {
        let actions = state.withLock { state in
            // The thread that waits for a job ends the process when it notices the kill.
            for process in state.processes.values { process.kill() }
            return state.plan.close()
        }
        perform(actions)
    }

    /// Whether jobs may be done, as far as the processes started so far show.
    package var mayDecode: Bool { state.withLock { !$0.isUnconfined } }

    /// Starts a process and returns its protection.
    ///
    /// The call blocks; tasks must not call it.
    package static func look(at program: String) throws(MediaError) -> Protection {
        let process = try RenderProcess(program)
        process.end()
        return process.protection
    }

    /// The identifiers of the living processes, for tests.
    var processes: [Int32] { state.withLock { $0.processes.values.map(\.process) } }

    // MARK: -

    private func perform(_ actions: [RenderPlan.Action]) {
        for action in actions {
            switch action {
            case .run(let job, let worker, let isNew):
                guard let pending = state.withLock({ $0.pending.removeValue(forKey: job) }) else { continue }
                queue.async { self.run(pending, worker, isNew: isNew) }
            case .end(let worker):
                guard let process = state.withLock({ $0.processes.removeValue(forKey: worker) }) else { continue }
                process.end()
            case .refuse(let job, let error):
                let pending = state.withLock { $0.pending.removeValue(forKey: job) }
                pending?.continuation.resume(returning: .failure(error))
            case .wake(let duration):
                configuration.later(duration) { [weak self] in
                    guard let self else { return }
                    perform(state.withLock { $0.plan.tick(now: UptimeClock.now) })
                }
            }
        }
    }

    /// Has a job done; runs on the renderer's queue.
    private func run(_ pending: Pending, _ worker: Int, isNew: Bool) {
        var outcome = RenderPlan.Outcome.answered
        let result: Result<RenderAnswer, MediaError>
        do throws(MediaError) {
            let process = try isNew ? start(worker) : state.withLock { $0.processes[worker] }
            guard let process else { throw .cancelled }
            outcome = .lost
            let answer = try process.perform(
                pending.job, with: pending.descriptor, by: UptimeClock.now + configuration.patience(pending.job))
            outcome = .answered
            if case .refused(let error) = answer { throw error }
            result = .success(answer)
        } catch {
            if case .unavailable = error { outcome = .notStarted(error) }
            result = .failure(error)
        }
        if outcome != .answered { state.withLock { $0.processes.removeValue(forKey: worker) }?.end() }
        perform(state.withLock { $0.plan.finished(worker, outcome, now: UptimeClock.now) })
        pending.continuation.resume(returning: result)
    }

    private func start(_ worker: Int) throws(MediaError) -> RenderProcess? {
        let process = try RenderProcess(configuration.program())
        let missing = configuration.required.subtracting(process.protection)
        guard missing.isEmpty else {
            process.end()
            let error = MediaError.unconfined(missing)
            let isFirst = state.withLock { state in
                defer { state.isUnconfined = true }
                return !state.isUnconfined
            }
            if isFirst { configuration.report(error) }
            throw error
        }
        state.withLock { $0.processes[worker] = process }
        return process
    }
}

extension MediaError {
    /// The system lacks measures without which nothing may be decoded.
    fileprivate static func unconfined(_ missing: Protection) -> MediaError {
        .unavailable(
            "the system does not confine it (no \(missing.names.joined(separator: ", "))); decode all the same with "
                + "decoding=unconfined")
    }
}

// MARK: - Render process

/// The process that decodes pictures, seen from outside: a socket, and an identifier to end it by.
///
/// ## Concurrency
///
/// One thread at a time gives it jobs and ends it. Any thread may `kill` it before that.
final class RenderProcess: Sendable {
    /// The measures that confine it.
    let protection: Protection
    let process: Int32
    private let channel: Channel
    /// The end of a pipe, with which the process ends if this one is killed in the middle of a job.
    private let life: OpenFile

    static let program = "rankfs-render"
    /// The time limit of its start, enough for a busy machine.
    private static let startPatience: Duration = .seconds(20)
    /// Starts it and waits until it is ready.
    ///
    /// It has the socket, the pipe, `/dev/null` and nothing else: no environment, no other descriptor.
    init(_ path: String) throws(MediaError) {
        let other: Channel
        do throws(SystemError) {
            (channel, other) = try Channel.pair()
        } catch { throw .unavailable("no socket can be made: \(error.text)") }
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else {
            let error = SystemError.last()
            for channel in [channel, other] { channel.close() }
            throw .unavailable("no pipe can be made: \(error.text)")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        let lifeline = OpenFile(owning: ends[0])
        life = OpenFile(owning: ends[1])
        do throws(SystemError) {
            defer { other.close() }
            let null = Descriptors.own.open("/dev/null", O_RDWR)
            defer { close(null) }
            process = try ChildProcess.start(
                path, [Self.program], inheriting: [other.descriptor, lifeline.descriptor], errors: null, environment: []
            )
        } catch {
            channel.close()
            throw .unavailable("\(path): \(error.text)")
        }
        do throws(SystemError) {
            let greeting = try channel.receive(
                upTo: Protection.greetingLength, by: UptimeClock.now + Self.startPatience)
            guard let protection = Protection(greeting: greeting) else { throw Channel.tooLong }
            self.protection = protection
        } catch {
            Self.end(process, channel)
            throw .unavailable("\(path) \(Self.said(error)) before it was ready")
        }
    }

    /// Gives it a job and waits for the answer.
    ///
    /// - Throws: `.lost`, after which it must be ended.
    func perform(
        _ job: RenderJob, with descriptor: Int32?, by deadline: ContinuousClock.Instant
    ) throws(MediaError) -> RenderAnswer {
        do throws(SystemError) {
            try channel.send(job.message, with: descriptor, by: deadline)
            let message = try channel.receive(upTo: job.longestAnswer, by: deadline)
            if let answer = RenderAnswer(message: message, to: job) { return answer }
        } catch { throw .lost("\(Self.said(error)) at it") }
        throw .nonsense
    }

    /// Kills it without waiting for its end.
    func kill() {
        Glibc.kill(process, SIGKILL)
    }

    /// Kills it in any state and waits until it is gone; must be called once.
    func end() {
        Self.end(process, channel)
    }

    private static func end(_ process: Int32, _ channel: Channel) {
        Glibc.kill(process, SIGKILL)
        _ = ChildProcess.wait(for: process)
        channel.close()
    }

    private static func said(_ error: SystemError) -> String {
        switch error {
        case Channel.ended: "ended"
        case Channel.tooSlow: "took too long"
        case Channel.tooLong: "answered nonsense"
        default: "could not be talked to (\(error.text))"
        }
    }
}

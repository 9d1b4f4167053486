import Semantics
import Testing

struct TaskMetricsTests {
    @Test func `of very many exchanges the first and the newest are kept (S-47)`() {
        var metrics = TaskMetrics()
        for number in 0..<10_000 {
            var transaction = TransactionMetrics()
            transaction.status = number
            metrics.add(transaction)
        }
        let kept = metrics.transactions.compactMap(\.status)
        #expect(kept == Array(0..<256) + Array(9744..<10_000))
    }
}

/* nightjar_qt.h - runs the callbacks of an nj_queue in the event loop of Qt 6. Needs only QtCore, and no moc.
 *
 *     nj_queue *queue = nj_queue_new();
 *     auto *watcher = new NightjarWatcher(queue, parent);
 *     ...
 *     delete watcher;
 *     nj_queue_free(queue);
 *
 * Ownership: the caller or the parent owns the watcher; the caller owns the queue. The watcher borrows the queue.
 * Thread:    the callbacks run on the thread of the watcher, which must have an event loop. In a nested event loop inside
 *            of a callback (QDialog::exec), the callbacks of the queue wait until the nested loop has ended.
 * Removal:   the watcher first, then nj_queue_free; both also inside of a callback. A callback must not throw. */
#ifndef NIGHTJAR_QT_H
#define NIGHTJAR_QT_H

#include <QObject>
#include <QPointer>
#include <QSocketNotifier>
#include <nightjar.h>

class NightjarWatcher : public QObject {
 public:
  explicit NightjarWatcher(nj_queue *queue, QObject *parent = nullptr)
      : QObject(parent), queue_(queue), notifier_(new QSocketNotifier(nj_queue_fd(queue), QSocketNotifier::Read, this)) {
    connect(notifier_, &QSocketNotifier::activated, this, [this] { poll(); });
  }

  /* False if the system had no descriptor left; the callbacks then never run. */
  bool isValid() const { return notifier_->socket() >= 0; }

 private:
  /* One call runs callbacks for at most 10 ms. The descriptor then stays readable, so the event loop calls this again.
   * The notifier is disabled meanwhile, because a nested event loop would find the descriptor readable without end. */
  void poll() {
    QPointer<NightjarWatcher> self(this);
    notifier_->setEnabled(false);
    nj_queue_poll(queue_, 0);
    if (self) notifier_->setEnabled(true); // a callback may have deleted the watcher
  }

  nj_queue *queue_;
  QSocketNotifier *notifier_; // a child of the watcher
};

#endif

#include "apps/training/trainer.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include "apps/training/stop.h"
#include "engine/runtime/error.h"
#include "layers/augment/augment_options.h"

namespace lathe {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Bytes of this process in memory now; 0 where the system does not say.
int64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t pages = 0, resident = 0;
  if (!(statm >> pages >> resident)) return 0;
  return resident * sysconf(_SC_PAGESIZE);
}

StepSpec step_spec(const TrainConfig& config, const StagedSet& set) {
  StepSpec spec;
  spec.model.vgg.batch_norm = config.model.model == "vgg16_bn";
  spec.model.vgg.head = config.model.head == "classic" ? Head::classic : Head::linear;
  spec.model.vgg.width = config.model.width;
  spec.model.vgg.dropout = config.model.dropout;
  spec.model.vgg.classes = static_cast<int64_t>(set.classes().size());
  spec.model.image_size = config.data.image_size;
  spec.model.normalize = config.data.normalize;
  spec.model.classes = set.classes();
  spec.frozen = frozen_layers(config.model.freeze, config.model.freeze_first, spec.model);
  const OptimizerConfig& o = config.optimizer;
  spec.rule = {o.optimizer, o.momentum,     o.nesterov,  o.beta1,    o.beta2,
               o.epsilon,   o.weight_decay, o.decay_all, o.grad_clip};
  spec.label_smoothing = config.label_smoothing;
  spec.stage_height = set.height();
  spec.stage_width = set.width();
  int64_t size = config.data.image_size;
  AugmentOptions augment = parse_augment(config.data.augment, size);
  spec.augment = augment_attributes(augment, parse_normalize(config.data.normalize), size, size);
  return spec;
}

// The same model looking at validation pictures as they are.
StepSpec evaluation_spec(StepSpec spec, const StagedSet* set) {
  if (set != nullptr) {
    spec.stage_height = set->height();
    spec.stage_width = set->width();
  }
  int64_t size = spec.model.image_size;
  spec.augment = augment_attributes(AugmentOptions{}, parse_normalize(spec.model.normalize), size, size);
  return spec;
}

Schedule schedule_of(const TrainConfig& config) {
  static const std::map<std::string, ScheduleKind> kKinds = {{"constant", ScheduleKind::constant},
                                                             {"step", ScheduleKind::step},
                                                             {"cosine", ScheduleKind::cosine},
                                                             {"onecycle", ScheduleKind::onecycle}};
  return {kKinds.at(config.schedule.schedule), config.optimizer.lr, config.schedule.warmup_epochs,
          config.schedule.lr_step, config.schedule.lr_gamma};
}

PipelineOptions pipeline_options(const TrainConfig& config, const Options& options) {
  return {.batch_size = config.batch_size,
          .shuffle = config.data.shuffle,
          .drop_last = config.data.drop_last,
          .seed = config.run.seed,
          .workers = options.overlap ? options.workers : 0};
}

// Bytes of everything that will be in the State: the graphs know it before there is one.
int64_t state_bytes(const std::vector<const Program*>& programs) {
  std::map<std::string, int64_t> sizes;
  for (const Program* program : programs) {
    for (int id = 0; id < program->graph.value_count(); ++id) {
      const ValueInfo& info = program->graph.info({id});
      if (info.storage == Storage::state) sizes[info.name] = info.type.bytes();
    }
  }
  int64_t total = 0;
  for (const auto& [name, bytes] : sizes) total += bytes;
  return total;
}

}  // namespace

Trainer::Trainer(const TrainConfig& config, const Options& effective, Datasets datasets)
    : config_(config),
      options_(effective),
      datasets_(std::move(datasets)),
      spec_(step_spec(config, *datasets_.train)),
      evaluation_spec_(evaluation_spec(spec_, datasets_.validation.get())),
      parameters_(model_parameters(spec_.model, spec_.frozen)),
      pipeline_(*datasets_.train, pipeline_options(config, options_)),
      timetable_(pipeline_.samples_per_epoch(), config.batch_size, config.accumulate),
      schedule_(schedule_of(config)),
      total_updates_(config.steps ? *config.steps : *config.epochs * timetable_.updates()),
      session_(spec_, options_, state_, arena_),
      evaluator_(evaluation_spec_, options_, state_, arena_) {
  if (trainable() == 0) throw Error(ExitCode::usage, "--freeze leaves nothing to train");
  std::vector<const Program*> programs{&evaluator_.program()};
  for (auto [batch, role] : timetable_.kinds(total_updates_ * config.accumulate)) {
    programs.push_back(&session_.prepare(batch, role));
  }
  const Program* largest = *std::max_element(
      programs.begin(), programs.end(),
      [](const Program* a, const Program* b) { return a->memory.packing.peak < b->memory.packing.peak; });
  forecast_ = {resident_bytes(), largest->memory.packing.peak, largest->memory.bound, state_bytes(programs),
               session_.buffer_bytes() + evaluator_.buffer_bytes()};
  learning_rate_now();  // refuses a schedule that makes no sense
}

int64_t Trainer::epochs() const { return (total_updates_ + timetable_.updates() - 1) / timetable_.updates(); }

int64_t Trainer::trainable() const {
  int64_t count = 0;
  for (const Parameter& parameter : parameters_)
    count += parameter.trainable ? parameter.type.shape.elements() : 0;
  return count;
}

void Trainer::prepare() {
  initialise(state_, parameters_, config_.run.seed);
  if (!config_.model.init.empty())
    load_weights(state_, parameters_, config_.model.init, config_.model.new_head);
  arena_->reserve(forecast_.arena);
  session_.bind();
  if (datasets_.validation) evaluator_.bind();
}

// Which pictures, in which order: their number and a hash (FNV-1a) of their labels.
std::string Trainer::samples() const {
  uint64_t hash = 0xcbf29ce484222325;
  for (int64_t i = 0; i < datasets_.train->size(); ++i)
    hash = (hash ^ static_cast<uint64_t>(datasets_.train->label(i))) * 0x100000001b3;
  return fmt::format("{} pictures, labels {:016x}", datasets_.train->size(), hash);
}

void Trainer::resume(const RunFolder& folder) {
  position_ = load_state(folder.state(), state_, spec_.model, samples());
  saved_updates_ = position_.updates;
  bool fits =
      position_.epoch >= 0 && position_.batch >= 0 && position_.batch < timetable_.batches() &&
      position_.updates == position_.epoch * timetable_.updates() + position_.batch / config_.accumulate;
  if (!fits) {
    throw Error(ExitCode::usage,
                fmt::format("{}: it stopped at batch {} of epoch {}, which this data and --batch-size "
                            "do not have; resume with the data and batch size it was started with",
                            folder.state().string(), position_.batch, position_.epoch + 1));
  }
  if (position_.updates > total_updates_) {
    throw Error(
        ExitCode::usage,
        fmt::format(
            "--resume: the run is already at update {}, past the {} that --steps or --epochs asks for",
            position_.updates, total_updates_));
  }
}

double Trainer::learning_rate_now() const {
  return learning_rate(schedule_, {position_.updates, timetable_.updates(), total_updates_});
}

ProgressState Trainer::progress_at(const Pending& done, double loss) const {
  ProgressState state;
  state.epoch = done.epoch + 1;
  state.epochs = epochs();
  state.step = done.batch + 1;
  state.steps = timetable_.batches();
  state.loss = loss;
  state.accuracy = position_.seen > 0
                       ? static_cast<double>(position_.correct) / static_cast<double>(position_.seen)
                       : std::numeric_limits<double>::quiet_NaN();
  double elapsed = std::max(position_.epoch_seconds, 1e-9);
  state.img_s = static_cast<double>(position_.seen) / elapsed;
  state.data_wait_share = std::min(1.0, position_.wait_ms / 1e3 / elapsed);
  state.memory_bytes = static_cast<double>(resident_bytes());
  // Evaluations and saving come again as often as they did so far.
  state.seconds_left = time_.total() / static_cast<double>(updates_done_) *
                       static_cast<double>(total_updates_ - done.update - 1);
  return state;
}

void Trainer::collect(EventLog& events, Progress& progress) {
  StepResult result = session_.collect();
  Pending pending = pending_.front();
  pending_.pop_front();
  Clock::time_point now = Clock::now();
  double step_seconds = std::chrono::duration<double>(now - last_done_).count();
  last_done_ = now;
  time_.compute_s += std::max(0.0, step_seconds - pending.wait_ms / 1e3);
  time_.data_wait_s += pending.wait_ms / 1e3;

  position_.loss_sum += result.loss_sum;
  position_.correct += std::lround(result.correct);
  position_.seen += result.samples;
  position_.wait_ms += pending.wait_ms;
  position_.epoch_seconds += step_seconds;
  position_.seconds += step_seconds;
  update_loss_ += result.loss_sum;
  update_samples_ += result.samples;
  update_wait_ms_ += pending.wait_ms;
  update_seconds_ += step_seconds;

  double batch_loss = result.loss_sum / static_cast<double>(result.samples);
  if (!pending.ends_update) return;
  double loss = update_loss_ / static_cast<double>(update_samples_);
  events.write(StepEvent{.step = pending.update + 1,
                         .epoch = pending.epoch + 1,
                         .loss = loss,
                         .lr = pending.lr,
                         .loss_scale = 1,
                         .step_ms = update_seconds_ * 1e3,
                         .data_wait_ms = update_wait_ms_,
                         .img_s = static_cast<double>(update_samples_) / std::max(update_seconds_, 1e-9)});
  if (!std::isfinite(loss) || !std::isfinite(batch_loss)) {
    std::string saved =
        saved_updates_ >= 0 ? fmt::format("; the state after step {} is kept", saved_updates_) : "";
    throw Error(ExitCode::not_finite,
                fmt::format("the loss is {} at step {} (epoch {}, rate {:.3g}): try a smaller "
                            "--lr or a longer --warmup-epochs{}",
                            loss, pending.update + 1, pending.epoch + 1, pending.lr, saved));
  }
  ++updates_done_;
  progress.step(progress_at(pending, loss));
  update_loss_ = update_wait_ms_ = update_seconds_ = 0;
  update_samples_ = 0;
}

Trainer::End Trainer::run(const RunFolder& folder, Console& console, EventLog& events, ResultsCsv& results) {
  Progress progress(console, config_.log_every);
  pipeline_.start(position_.epoch, position_.batch * config_.batch_size, epochs());
  last_done_ = Clock::now();
  while (position_.updates < total_updates_) {
    const Batch* batch = pipeline_.next();
    if (batch == nullptr) throw std::logic_error("the pipeline ended before the run");
    StepSlot slot = timetable_.slot(position_.batch);
    double lr = learning_rate_now();
    StepScalars scalars{.seed = static_cast<int64_t>(config_.run.seed),
                        .epoch = position_.epoch,
                        .step = position_.batches,
                        .update_count = position_.updates + 1,
                        .lr = static_cast<float>(lr),
                        .sample_weight = static_cast<float>(1.0 / static_cast<double>(slot.update_samples))};
    double wait_ms = batch->wait_ms;
    if (session_.full()) collect(events, progress);
    session_.enqueue(*batch, slot.role, scalars);
    pipeline_.release(batch);
    pending_.push_back(
        {position_.epoch, position_.batch, position_.updates, lr, wait_ms, slot.ends_update()});

    ++position_.batch;
    ++position_.batches;
    if (!slot.ends_update()) continue;
    ++position_.updates;
    bool epoch_ends = position_.batch == timetable_.batches();
    bool stop = StopSignal::requested();
    if (!epoch_ends && !stop && position_.updates < total_updates_) continue;

    while (!session_.idle()) collect(events, progress);
    if (epoch_ends || position_.updates == total_updates_) end_of_epoch(folder, console, events, results);
    if (StopSignal::requested() && position_.updates < total_updates_) {
      save(folder, events);
      return End::stopped;
    }
    if (config_.patience && position_.evaluations_since_best >= *config_.patience) {
      save(folder, events);
      return End::patience;
    }
    last_done_ = Clock::now();
  }
  save(folder, events);
  return End::done;
}

void Trainer::end_of_epoch(const RunFolder& folder, Console& console, EventLog& events, ResultsCsv& results) {
  auto seen = static_cast<double>(std::max<int64_t>(position_.seen, 1));
  double nan = std::numeric_limits<double>::quiet_NaN();
  int64_t epoch = position_.epoch + 1;
  EpochResult row{
      .epoch = epoch,
      .time_s = position_.seconds,
      .train_loss = position_.loss_sum / seen,
      .train_top1 = static_cast<double>(position_.correct) / seen,
      .val_loss = nan,
      .val_top1 = nan,
      .lr = learning_rate(schedule_, {position_.updates - 1, timetable_.updates(), total_updates_}),
      .img_s = seen / std::max(position_.epoch_seconds, 1e-9),
      .data_wait_ms = position_.wait_ms / static_cast<double>(std::max<int64_t>(position_.batch, 1))};
  events.write(EpochEvent{.epoch = epoch,
                          .step = position_.updates,
                          .samples = position_.seen,
                          .loss = row.train_loss,
                          .top1 = row.train_top1,
                          .lr = row.lr,
                          .time_s = position_.epoch_seconds,
                          .img_s = row.img_s,
                          .data_wait_ms = row.data_wait_ms});
  bool better = !datasets_.validation;  // with nothing to judge by, the latest weights are the best
  bool last = position_.updates == total_updates_;
  if (datasets_.validation && (last || epoch % config_.eval_every == 0)) {
    Clock::time_point start = Clock::now();
    EvaluationResult evaluation = evaluator_.run(*datasets_.validation, options_.workers);
    time_.evaluation_s += seconds_since(start);
    position_.seconds += seconds_since(start);
    row.val_loss = evaluation.loss();
    row.val_top1 = static_cast<double>(evaluation.correct()) / static_cast<double>(evaluation.samples());
    events.write(EvalEvent{.epoch = epoch,
                           .split = "val",
                           .loss = row.val_loss,
                           .top1 = row.val_top1,
                           .correct = evaluation.correct(),
                           .samples = evaluation.samples()});
    if (!std::isfinite(row.val_loss)) {
      throw Error(ExitCode::not_finite,
                  fmt::format("the validation loss is {} after epoch {}: try a smaller --lr; "
                              "the last good state is kept",
                              row.val_loss, epoch));
    }
    better = row.val_top1 > position_.best_top1 ||
             (row.val_top1 == position_.best_top1 && row.val_loss < position_.best_loss);
    ++position_.evaluations_since_best;
  }
  if (better) {
    position_.best_epoch = epoch;
    position_.best_top1 = datasets_.validation ? row.val_top1 : row.train_top1;
    position_.best_loss = datasets_.validation ? row.val_loss : row.train_loss;
    position_.evaluations_since_best = 0;
    Clock::time_point start = Clock::now();
    save_weights(folder.best_weights(), state_, parameters_, spec_.model, position_.batches);
    time_.saving_s += seconds_since(start);
    events.write(CheckpointEvent{epoch, position_.updates, "best", folder.best_weights().string()});
  }
  results.write(row);
  history_.push_back(row);
  console.result(epoch_line(row, better));

  if (position_.batch == timetable_.batches()) {
    ++position_.epoch;
    position_.batch = 0;
    position_.loss_sum = position_.wait_ms = position_.epoch_seconds = 0;
    position_.correct = position_.seen = 0;
  }
  if (!config_.steps && epoch % config_.save_every == 0) save(folder, events);
}

std::string Trainer::epoch_line(const EpochResult& row, bool better) const {
  std::string text = fmt::format("epoch {:>3}/{}  train loss {:.4f} top1 {:5.1f}%", row.epoch, epochs(),
                                 row.train_loss, 100 * row.train_top1);
  if (std::isfinite(row.val_loss))
    text += fmt::format("  val loss {:.4f} top1 {:5.1f}%{}", row.val_loss, 100 * row.val_top1,
                        better ? " *" : "  ");
  double wait = row.data_wait_ms * static_cast<double>(timetable_.batches()) / 1e3;
  double share = position_.epoch_seconds > 0 ? 100 * std::min(1.0, wait / position_.epoch_seconds) : 0;
  return text + fmt::format("  {:5.0f} img/s  wait {:.0f}%  rate {:.3g}", row.img_s, share, row.lr);
}

void Trainer::save(const RunFolder& folder, EventLog& events) {
  if (saved_updates_ == position_.updates) return;
  Clock::time_point start = Clock::now();
  save_weights(folder.last_weights(), state_, parameters_, spec_.model, position_.batches);
  save_state(folder.state(), state_, spec_.model, position_, config_.run.settings.to_json().dump(),
             samples());
  saved_updates_ = position_.updates;
  time_.saving_s += seconds_since(start);
  events.write(CheckpointEvent{position_.epoch + 1, position_.updates, "state", folder.state().string()});
}

EvaluationResult Trainer::evaluate_best(const RunFolder& folder) {
  load_weights(state_, parameters_, folder.best_weights(), false);
  Clock::time_point start = Clock::now();
  EvaluationResult result = evaluator_.run(*datasets_.validation, options_.workers);
  time_.evaluation_s += seconds_since(start);
  return result;
}

}  // namespace lathe

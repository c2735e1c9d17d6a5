/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Closed forms: scaling laws, reliability, cost, number formats, caches, latency, launches, comparison. */
#ifndef RIDGE_MODEL_CALC_CALC_H
#define RIDGE_MODEL_CALC_CALC_H

#include "base/sheet.h"
#include "model/hw/hw.h"
#include "model/layer/layer.h"

/* How work spreads over more GPUs: measured efficiency, the laws of scaling, a step that waits for its gradients, and
 * the bubble of a pipeline. */

/* Speedup against a base, by throughput or by time; efficiency is speedup over the growth in GPUs, never its inverse.
 */
double scale_speedup_rate(struct sheet *sh, double base_sample_per_s, double rate_sample_per_s);
double scale_speedup_time(struct sheet *sh, double base_s, double time_s);
/* A job's time is one over its rate. */
double scale_time_of_rate(struct sheet *sh, double rate_sample_per_s);
double scale_efficiency(struct sheet *sh, double n_base_ranks, double n_ranks, double speedup);

/* Speedup of n ranks over one. */
double scale_amdahl(struct sheet *sh, double n_ranks, double contention);
double scale_gustafson(struct sheet *sh, double n_ranks, double contention);
double scale_usl(struct sheet *sh, double n_ranks, double contention, double coherency);
/* Ranks beyond which the universal law slows down; infinite without coherency cost. */
double scale_peak(struct sheet *sh, double contention, double coherency);
/* The most ranks that keep this efficiency under the universal law. */
double scale_stop(struct sheet *sh, double contention, double coherency, double least_frac);
/* The worked examples' rule of thumb: 85 % at 8, 70 % at 64, 50 % from 256 on. */
double scale_rule(struct sheet *sh, double n_ranks);

/* An estimate, its standard error and Student's quantiles for 80 % and 95 %: rows low_80, high_80, low_95, high_95. */
struct scale_estimate {
	double value, error, t_80, t_95;
};
double scale_interval(struct sheet *sh, const struct scale_estimate *e);
/* The same for a throughput. */
double scale_rate_interval(struct sheet *sh, const struct scale_estimate *e);

/* Work of a data-parallel step against one rank: what waiting leaves of n (ridge/collective.h has the waiting). */
double scale_step_speedup(struct sheet *sh, double n_ranks, double efficiency_frac);

/* Share of a pipeline step in which a stage idles. */
double pipeline_bubble(struct sheet *sh, double n_stages, double n_microbatches, double n_interleave);
double pipeline_microbatches(struct sheet *sh, double n_stages, double n_interleave, double target_frac);
double pipeline_interleave(struct sheet *sh, double n_stages, double n_microbatches, double target_frac);
/* How much faster the same work runs with a smaller bubble. */
double pipeline_gain(struct sheet *sh, double bubble_frac, double target_frac);
/* Micro-batches of one replica's share of a batch. */
double pipeline_fill(struct sheet *sh, double batch, double micro_batch);

/* Money for a million samples, and for a run. */
double scale_million_usd(struct sheet *sh, double n_ranks, double gpu_usd_per_s, double rate_sample_per_s);
double scale_run_usd(struct sheet *sh, double n_ranks, double gpu_usd_per_s, double time_s);

/* Failures: how often, how far apart to checkpoint, what is left of the time, and how many spares to keep. */

/* What was published about interruptions of one run: a file of hwdb/reliability. */
struct reliability {
	const char *id, *name, *gpu, *notes;
	struct datum n_gpus, period_s;
	struct datum n_interruptions; /* all of them */
	struct datum n_failures;      /* unplanned ones */
	struct datum goodput_frac;    /* share of useful time, where it was published */
};

/* A job that any failure stops. */
struct failing {
	struct datum mtbf_s;
	struct datum
	    stall_s; /* for which a checkpoint stops the computing: all of the write, or the copy to the host */
	struct datum durable_s; /* from the start of a checkpoint until a failure no longer loses it */
	struct datum restart_s; /* from the failure to computing again */
};

/* Mean time between failures: of one GPU from a published run, of the job from one GPU's. */
double published_mtbf(struct sheet *sh, const struct reliability *r);
double job_mtbf(struct sheet *sh, double gpu_mtbf_s, double n_gpus);
double failures_per_day(struct sheet *sh, double mtbf_s);

/* Time to write a checkpoint, every writer at this rate. */
double checkpoint_write(struct sheet *sh, double size_byte, double write_byte_per_s, double n_writers);

/* The interval of least loss; computing between two checkpoints. */
double young_interval(struct sheet *sh, double stall_s, double mtbf_s);
double daly_interval(struct sheet *sh, double stall_s, double mtbf_s);
/* What writing and lost work cost, to first order. */
double interval_overhead(struct sheet *sh, double stall_s, double interval_s, double mtbf_s);
/* Share of the time that is useful. */
double goodput(struct sheet *sh, const struct failing *f, double interval_s);
/* The same by cause, to first order: writing, work that is lost, restarts. */
double write_share(struct sheet *sh, double stall_s, double interval_s);
double lost_share(struct sheet *sh, const struct failing *f, double interval_s);
double restart_share(struct sheet *sh, double restart_s, double mtbf_s);
/* Share of the time in which storage is being written to. */
double storage_busy(struct sheet *sh, double durable_s, double interval_s);

/* The write that keeps the loss at its best interval below a target, and the bandwidth for it. */
double write_for_overhead(struct sheet *sh, double target_frac, double mtbf_s);
double bandwidth_for_write(struct sheet *sh, double size_byte, double write_s);

/* A whole run: its time on the wall, its failures. */
double run_wall(struct sheet *sh, double run_s, double goodput_frac);
double run_failures(struct sheet *sh, double wall_s, double mtbf_s);

/* Nodes that are being repaired at any time, on average. */
double nodes_in_repair(struct sheet *sh, double mtbf_s, double repair_s);
double node_count(struct sheet *sh, double n_gpus, double n_gpus_per_node);
double spare_share(struct sheet *sh, double n_spares, double n_nodes);

/* --- nothing is recorded --------------------------------------------------------------------------------- */

/* How likely more than n_spares nodes are in repair at once. */
double shortage(double n_mean, double n_spares);
/* The fewest spares for which that is at most risk_frac. */
double spares_needed(double n_mean, double risk_frac);

/* What GPUs cost: runs, months, requests and tokens; the fleet that a load needs; owning against renting.  Runs have
 * scale_run_usd (scale.h), months and a million tokens capacity_month_usd and capacity_million_usd (capacity.h). */

/* A month as clouds bill it: a twelfth of 365 days. */
#define MONTH_S (730.0 * 3600.0)

/* GPUs that are paid for n_replicas when GPUs are rented by instances of n_unit_gpus: whole instances, each with whole
 * replicas; larger replicas get as many instances as they need. */
double cost_rented(struct sheet *sh, double n_replicas, double n_replica_gpus, double n_unit_gpus);
/* One GPU's part of the price of a node. */
double cost_gpu_price(struct sheet *sh, double node_usd_per_s, double n_node_gpus);
/* The price of a GPU that a bill implies. */
double cost_implied_price(struct sheet *sh, double bill_usd, double n_gpus, double time_s);
double cost_gpu_time(struct sheet *sh, double n_gpus, double time_s);

/* The same bill at another price base, times: 1 when the bases agree. */
double cost_base_ratio(struct sheet *sh, double bill_usd, double computed_usd);

double cost_saved(struct sheet *sh, double before_usd, double after_usd);
double cost_saved_frac(struct sheet *sh, double before_usd, double after_usd);

/* Right-sizing: request rate per GPU of a measured fleet, GPUs needed to keep utilization below a limit, and
 * utilization. */
double cost_gpu_rate(struct sheet *sh, double measured_request_per_s, double n_measured_gpus);
double cost_gpus_needed(struct sheet *sh, double load_request_per_s, double gpu_request_per_s, double utilisation_frac);
double cost_utilisation(struct sheet *sh, double load_request_per_s, double gpu_request_per_s, double n_gpus);

/* Requests: served in a while, and what one costs; a thousand of them. */
double cost_served(struct sheet *sh, double load_request_per_s, double time_s);
double cost_request(struct sheet *sh, double bill_usd, double served_request);
double cost_thousand(struct sheet *sh, double bill_usd_per_request);

/* Tokens.  A measured rate that is reached only part of the time costs more; input and output apart. */
double cost_busy_rate(struct sheet *sh, double fleet_token_per_s, double utilisation_frac);
double cost_request_tokens(
    struct sheet *sh, double input_million_usd, double output_million_usd, double isl_token, double osl_token);
/* A million input and output tokens of requests with a known price, when an output token takes the time of
 * output_weight input tokens. */
double cost_input_split(
    struct sheet *sh, double bill_usd_per_request, double isl_token, double osl_token, double output_weight);
double cost_output_split(struct sheet *sh, double input_million_usd, double output_weight);

/* Owning: capital over the lifetime, power at the meter, hosting; all machines together, per second. */
struct cost_owned {
	struct datum capital_usd, residual, lifetime_s;  /* the residual a fraction of the capital */
	struct datum power_watt, pue;                    /* average draw of the machines; facility over machines */
	struct datum electricity_usd_per_joule, hosting; /* hosting for a month */
};
double cost_capital_rate(struct sheet *sh, const struct cost_owned *o);
double cost_running_rate(struct sheet *sh, const struct cost_owned *o);
double cost_own_rate(struct sheet *sh, const struct cost_owned *o);
double cost_lifetime(struct sheet *sh, double n_years);
/* Several nodes alike: their GPUs, their capital, their power. */
double cost_nodes_gpus(struct sheet *sh, double n_nodes, double n_node_gpus);
double cost_nodes_capital(struct sheet *sh, double n_nodes, double node_usd);
double cost_nodes_power(struct sheet *sh, double n_nodes, double node_watt);
/* Renting the same GPUs for a share of the hours. */
double cost_rent_rate(struct sheet *sh, double n_gpus, double gpu_usd_per_s, double duty_frac);
/* One GPU for a second in which it is needed. */
double cost_used_rate(struct sheet *sh, double own_usd_per_s, double n_gpus, double duty_frac);
/* The share of the hours from which owning is cheaper (above 1: never), and the time after which the capital has come
 * back (infinite or negative: never). */
double cost_break_even_duty(struct sheet *sh, double own_usd_per_s, double n_gpus, double gpu_usd_per_s);
double cost_break_even(struct sheet *sh, double capital_usd, double rent_usd_per_s, double running_usd_per_s);
/* An amount of money for a month of 730 hours. */
double cost_month(struct sheet *sh, double all_usd_per_s);

/* A measurement against an earlier one: how much worse, and the limit that a threshold sets.  Above 0 is worse. */

/* Where more is better (throughput): the share that was lost, and the least that is allowed. */
double compare_lost(struct sheet *sh, double baseline, double current);
double compare_least(struct sheet *sh, double baseline, double threshold_frac);
/* Where less is better (time, memory): the share that was added, and the most that is allowed. */
double compare_added(struct sheet *sh, double baseline, double current);
double compare_most(struct sheet *sh, double baseline, double threshold_frac);

/* A value as a share of the most that it may be. */
double compare_of_limit(struct sheet *sh, double current, double limit);

/* Mann and Whitney's U as the probability that a current measurement is worse than an earlier one (ties count half). */
double compare_worse_frac(struct sheet *sh, double n_worse_pairs, double n_baseline, double n_current);

/* Whether a series grows, and when it reaches a limit.  Series are pure numbers in one unit, whatever it is; measured_*
 * gives a number its unit back. */

/* Growth for each step between the first and the last point. */
double trend_end_slope(struct sheet *sh, double first_step, double last_step, double first, double last);
/* Its line's value at step 0. */
double trend_start(struct sheet *sh, double first, double slope, double first_step);
/* A line's value at a step, its growth over n steps, and the last step below a limit (slope above 0). */
double trend_value(struct sheet *sh, double start, double slope, double n_steps);
double trend_growth(struct sheet *sh, double slope, double n_steps);
double trend_reached(struct sheet *sh, double start, double slope, double limit);

/* A number of a series in its unit: bytes, seconds, bytes per second. */
double measured_size(struct sheet *sh, double number, double unit_byte);
double measured_time(struct sheet *sh, double number, double unit_s);
double measured_rate(struct sheet *sh, double number, double unit_byte_per_s);

/* A deadline: stages one after the other and side by side, what is left of the budget, and how long the tail is. */

/* The cases that a stage has times for. */
enum stage_time { STAGE_NOW, STAGE_CHANGED, STAGE_TAIL, N_STAGE_TIMES };

/* Legs follow one another; the branches of a leg run at the same time; the stages of a branch follow one another. */
struct stage {
	const char *name;
	struct datum time_s[N_STAGE_TIMES]; /* what is absent is as STAGE_NOW */
	int leg, branch;
};

/* Stages of a leg, and of a branch, stand together; both are numbered from 0. */
struct stages {
	int n, n_legs;
	const struct stage *list;
};

/* The longest way through. */
double latency_total(struct sheet *sh, const struct stages *p, enum stage_time which);
/* The most that a stage may take for its own way through to end in time. */
double latency_allowed(struct sheet *sh, const struct stages *p, enum stage_time which, int stage, double slack_s);
/* P99 of the way if the stages' delays have nothing to do with each other. */
double latency_tail_independent(struct sheet *sh, const struct stages *p);

/* A frame's time from its rate, and back. */
double latency_budget(struct sheet *sh, double frame_hertz);
double latency_rate(struct sheet *sh, double total_s);
double latency_slack(struct sheet *sh, double budget_s, double total_s);
double latency_over(struct sheet *sh, double slack_s);
double latency_share(struct sheet *sh, double stage_s, double total_s);
/* What a stage has to reach if all shrink alike. */
double latency_proportional(struct sheet *sh, double stage_s, double budget_s, double total_s);
double latency_saving(struct sheet *sh, double before_s, double after_s);

/* P99 over P50. */
double latency_tail(struct sheet *sh, double p50_s, double p99_s);
/* Another percentile of a normal spread between them. */
double latency_percentile(struct sheet *sh, double p50_s, double p99_s, double share_frac);
/* Runs that put n_beyond samples behind a percentile. */
double latency_runs(struct sheet *sh, double percentile_frac, double n_beyond);

/* Metres that a vehicle travels meanwhile. */
double latency_metres_per_hour(struct sheet *sh, double n_units_per_hour, double n_metres_per_unit);
double latency_travelled(struct sheet *sh, double n_metres_per_hour, double time_s);

/* --- nothing is recorded --------------------------------------------------------------------------------- */

/* Time of a stage in one case. */
struct datum stage_takes(const struct stage *s, enum stage_time which);
/* Whether the longest way leads through it. */
bool stage_is_critical(const struct stages *p, enum stage_time which, int stage);
/* Whether this stage alone can be made so fast that the budget is met. */
bool stage_suffices(const struct stages *p, enum stage_time which, int stage, double budget_s);

/* Serving without a model of an engine: measured sweeps, objectives that must fit each other, floors, static batches.
 */

/* Throughput against a base, as a factor and as a change; a time's change. */
double service_gain(struct sheet *sh, double base_request_per_s, double rate_request_per_s);
double service_rate_change(struct sheet *sh, double base_request_per_s, double rate_request_per_s);
double service_time_change(struct sheet *sh, double base_s, double time_s);

/* The answer's length that three objectives leave, and what one of a given length needs. */
double answer_fitting(struct sheet *sh, double deadline_s, double ttft_s, double itl_s);
double answer_time(struct sheet *sh, double ttft_s, double itl_s, double osl_token);
double answer_itl(struct sheet *sh, double deadline_s, double ttft_s, double osl_token);

/* Floors: a prompt at a share of the peak, a step that reads weights and caches once or computes at the peak. */
double prompt_flop(struct sheet *sh, double isl_token, double work_flop_per_token);
double prompt_floor(struct sheet *sh, double prompt_work_flop, double peak_flop_per_s, double mfu_frac);
double decode_read(struct sheet *sh, double weight_byte, double cache_byte);
double decode_work(struct sheet *sh, double n_sequences, double work_flop_per_token);
double decode_floor(
    struct sheet *sh, double read_byte, double step_flop, double mem_byte_per_s, double peak_flop_per_s);
double decode_rate(struct sheet *sh, double n_sequences, double step_s);
double gpu_share(struct sheet *sh, double all_flop, double n_gpus);

/* A static batch: all wait for the longest answer. */
double static_waiting(struct sheet *sh, double n_sequences);
double static_idle(struct sheet *sh, double mean_token, double longest_token);
/* What filling empty places at once would gain at most. */
double static_gain(struct sheet *sh, double mean_token, double longest_token);

/* A cache of the hottest rows of a table: how often it hits, and what that is worth. */

/* Rows that are held, and the share of the table that they are. */
double cache_hot(struct sheet *sh, double n_items, double cached_frac);
double cache_share(struct sheet *sh, double n_items, double n_hot);

/* The share of lookups that finds its row, when the hottest are held. */
/* Zipf: the row of rank k is read with frequency k^-zipf. */
double cache_zipf(struct sheet *sh, double n_items, double n_hot, double zipf);
/* All rows are asked for alike. */
double cache_uniform(struct sheet *sh, double n_items, double n_hot);
/* Measured: the hottest item_frac of the rows get lookup_frac of the lookups.  n knots in growing order, the last one
 * (1, 1); rows between two knots are taken as equally hot. */
struct cache_curve {
	int n;
	const double *item_frac, *lookup_frac;
};
double cache_measured(struct sheet *sh, const struct cache_curve *curve, double cached_frac);

/* The exponent with which n_hot rows hit this often; NaN when none does. */
double cache_zipf_of(double n_items, double n_hot, double hit_frac);
/* The fewest rows that hit this often. */
double cache_hot_of(double n_items, double zipf, double hit_frac);

double cache_size(struct sheet *sh, double table_byte, double cached_frac);
/* Time of a lookup that misses now and then: the table's own time for misses, the cache's for hits. */
double cache_miss_time(struct sheet *sh, double lookup_s, double hit_frac);
double cache_hit_time(struct sheet *sh, double hit_s, double hit_frac);
double cache_lookup(struct sheet *sh, double misses_s, double hits_s);
/* A step: its lookups, and everything else. */
double cache_step(struct sheet *sh, double lookup_s, double rest_s);

/* The way of samples into a step: loaders, storage, sensors, and what a checkpoint does to them. */

/* --- loaders --------------------------------------------------------------------------------------------- */

/* Time of one sample, from a profile of many calls. */
double data_cost(struct sheet *sh, double profile_s, double n_calls);
/* Samples that one worker, or several, prepare. */
double data_worker_rate(struct sheet *sh, double cost_s_per_sample);
double data_loader_rate(struct sheet *sh, double n_workers, double cost_s_per_sample);
/* Samples of a batch in the time that it takes: to load, or to compute. */
double data_batch_rate(struct sheet *sh, double batch_sample, double batch_s);
/* Samples that storage delivers. */
double data_storage_rate(struct sheet *sh, double read_byte_per_s, double size_byte_per_sample);
/* A step, from what was measured to get through. */
double data_step_time(struct sheet *sh, double batch_sample, double rate_sample_per_s);
/* The slower of two ways that run side by side. */
double data_slower(struct sheet *sh, double loader_sample_per_s, double storage_sample_per_s);
/* Samples that get through: loading hidden behind computing, or one after the other. */
double data_overlapped(struct sheet *sh, double input_sample_per_s, double step_sample_per_s);
double data_serial(struct sheet *sh, double input_sample_per_s, double step_sample_per_s);
/* Share of the time in which computing waits. */
double data_idle(struct sheet *sh, double through_sample_per_s, double step_sample_per_s);
/* Workers needed for a sample rate; *n_exact is not rounded. */
double data_workers(struct sheet *sh, double rate_sample_per_s, double cost_s_per_sample);
/* Read bandwidth that a sample rate needs. */
double data_read_need(struct sheet *sh, double rate_sample_per_s, double size_byte_per_sample);
/* How far a rate is from another. */
double data_slowdown(struct sheet *sh, double expected_sample_per_s, double rate_sample_per_s);

/* --- a loader that changes ------------------------------------------------------------------------------- */

/* A step of which loading is a share; what it gains is gain_part, stack_gain.h. */
double data_iteration(struct sheet *sh, double load_s, double load_frac);
/* Upper limit of the sample rate with a faster loader. */
double data_most(struct sheet *sh, double rate_sample_per_s, double gain);

/* --- rules of thumb for the number of workers ------------------------------------------------------------ */

double data_rule_gpus(struct sheet *sh, double n_gpus);
double data_rule_cores(struct sheet *sh, double n_gpus, double n_cores);

/* --- storage --------------------------------------------------------------------------------------------- */

double data_units(struct sheet *sh, double n_units, double unit_byte_per_s);
/* Share of its time that a storage is busy with a flow. */
double data_busy(struct sheet *sh, double flow_byte_per_s, double storage_byte_per_s);

/* --- sensors --------------------------------------------------------------------------------------------- */

double data_camera(struct sheet *sh, double n_pixels, double pixel_byte, double frame_hertz);
double data_cameras(struct sheet *sh, double n_cameras, double camera_byte_per_s);
double data_volume(struct sheet *sh, double flow_byte_per_s, double length_s);

/* --- checkpoints on the same storage --------------------------------------------------------------------- */

/* Time of one (alone: checkpoint_write, reliability.h) beside reading that is served first. */
double data_burst_beside(struct sheet *sh, double burst_s, double read_frac);
/* Share of the storage's time that both take. */
double data_busy_both(struct sheet *sh, double read_frac, double write_frac);
/* Samples that storage delivers while a checkpoint takes half of its time. */
double data_burst_rate(struct sheet *sh, double storage_sample_per_s);

/* Launching kernels: what the host needs for it, what of that the GPU waits for, and what graphs and fusion save. */

double launch_count(struct sheet *sh, double n_layers, double n_kernels_per_layer);
/* How often an operator of a list is launched. */
double launch_times(struct sheet *sh, const struct op *op);
/* Time of the host for all of them. */
double launch_host(struct sheet *sh, double n_launches, double launch_s);
/* One graph instead: every node is cheaper, and the graph itself is launched once. */
double launch_graph(struct sheet *sh, double n_launches, double node_s, double graph_s);

/* A step: the host runs ahead of the GPU, or waits for every kernel. */
double launch_step(struct sheet *sh, double host_s, double device_s);
double launch_step_blocking(struct sheet *sh, double host_s, double device_s);
/* What the GPU waits for. */
double launch_exposed(struct sheet *sh, double step_s, double device_s);
double launch_idle(struct sheet *sh, double exposed_s, double step_s);
/* How long a kernel has to run to hide the launch of the next. */
double launch_kernel(struct sheet *sh, double device_s, double n_launches);
/* Launches that the GPU's time hides. */
double launch_hidden(struct sheet *sh, double device_s, double launch_s);

/* How many times fewer. */
double launch_fewer(struct sheet *sh, double n_before, double n_after);
/* Launches when every n_before of them become n_after. */
double launch_fused(struct sheet *sh, double n_launches, double n_before, double n_after);

/* --- fusion: operators of which each reads what the one before it wrote ---------------------------------- */

struct chain {
	int n;
	const struct op *ops;
};

/* True if an operator of this kind can be part of a chain. */
bool fusion_takes(enum op_kind kind);
/* Elements that it reads from the one before it, and that it hands on. */
double fusion_in(struct sheet *sh, const struct op *op);
double fusion_out(struct sheet *sh, const struct op *op);
/* Bytes that it reads besides the stream: weights, other operands. */
double fusion_own(struct sheet *sh, const struct op *op);

/* Bytes of the chain as it is, and as one kernel that keeps what lies between in registers or shared memory. */
double fusion_apart(struct sheet *sh, const struct chain *c);
double fusion_together(struct sheet *sh, const struct chain *c);
double fusion_saved(struct sheet *sh, double apart_byte, double together_byte);
double fusion_saved_frac(struct sheet *sh, double apart_byte, double together_byte);
/* Time that these bytes take at best. */
double fusion_time(struct sheet *sh, double size_byte, double mem_byte_per_s);

/* Speculative decoding: a cheap model drafts tokens, the model that is served verifies them in one pass. */

/* What a step costs. */
struct draft_cost {
	struct datum draft_s;    /* one drafted token */
	struct datum target_s;   /* one token of the served model alone */
	struct datum verify_s;   /* one verifying pass; absent: as long as target_s */
	struct datum overhead_s; /* per step; absent: none */
};

/* Tokens that a step of n_drafts drafts yields, each accepted with probability accept_frac while all before it were. */
double draft_tokens(struct sheet *sh, double accept_frac, double n_drafts);
/* The same when it is known how many were accepted: the verifying pass yields one more. */
double draft_tokens_accepted(struct sheet *sh, double n_accepted);
double draft_step(struct sheet *sh, const struct draft_cost *c, double n_drafts);
/* Against the served model alone. */
double draft_speedup(struct sheet *sh, const struct draft_cost *c, double accept_frac, double n_drafts);
/* Speedup if every draft token is accepted: the upper limit for any acceptance rate. */
double draft_limit(struct sheet *sh, const struct draft_cost *c, double n_drafts);

/* --- searches: nothing is recorded ----------------------------------------------------------------------- */

/* The number of drafts, 0 to n_most, with the highest speedup: 0 when none of them gains anything. */
double draft_best(const struct draft_cost *c, double accept_frac, double n_most);
/* The acceptance at which n_drafts drafts cost what they gain; NaN when none does. */
double draft_break_even(const struct draft_cost *c, double n_drafts);
/* The acceptance that yields tokens_per_step tokens with n_drafts drafts; NaN outside 1 .. n_drafts + 1. */
double draft_acceptance(double tokens_per_step, double n_drafts);

/* Formats of numbers: what they cost, what they can hold, and how they round.  The table is format.def. */

enum format_code { CODE_IEEE, CODE_E4M3, CODE_FINITE, CODE_INTEGER, CODE_NORMAL };
enum scaling { SCALING_NONE, SCALING_ABSMAX, SCALING_POWER, SCALING_FP8 };

struct format {
	const char *name, *title, *source;
	enum format_code code;
	enum scaling scaling;
	double exponent_bits, mantissa_bits, stored_bits;
	double scale_bits, group, zero_bits; /* group 0: a scale that is not counted */
	double outer_bits, outer_group;      /* second-level scale: bits, and scales per group */
};

enum {
#define FORMAT(id, ...) FORMAT_##id,
#include "model/calc/format.def"
#undef FORMAT
	N_FORMATS,
};

extern const struct format formats[N_FORMATS];
/* The format of this name, or NULL. */
const struct format *format_find(const char *name);
bool format_is_float(const struct format *f);

/* --- what it costs --------------------------------------------------------------------------------------- */

double format_bits(struct sheet *sh, const struct format *f);
double format_scale_bytes(struct sheet *sh, const struct format *f, double n_params);
/* How many times smaller than a base. */
double format_ratio(struct sheet *sh, double base_bits_per_weight, double bits_per_weight);

/* --- what it can hold: a floating-point code, before scaling --------------------------------------------- */

double format_element_bits(struct sheet *sh, const struct format *f);
double format_largest(struct sheet *sh, const struct format *f);
double format_smallest_normal(struct sheet *sh, const struct format *f);
double format_smallest(struct sheet *sh, const struct format *f);
double format_digits(struct sheet *sh, const struct format *f);
/* From a number to the next. */
double format_spacing(struct sheet *sh, const struct format *f, double magnitude);
/* A number times a loss scale. */
double format_scaled(struct sheet *sh, double value, double factor);
/* An update in units of the spacing: below one half it is rounded away. */
double format_update(struct sheet *sh, double update, double spacing);

/* Integers: the largest one, and the step when the largest of a group is absmax. */
double integer_largest(struct sheet *sh, double n_bits);
double integer_step(struct sheet *sh, double absmax, double largest);
/* Rounding to a grid: mean, root of the mean square, and largest error. */
double rounding_mean(struct sheet *sh, double step);
double rounding_rms(struct sheet *sh, double step);
double rounding_worst(struct sheet *sh, double step);

/* --- how it rounds a normal distribution, in units of its standard deviation ----------------------------- */

double normal_mean_abs(struct sheet *sh);
double rounding_relative(struct sheet *sh, double mean_error, double mean_abs);
double rounding_snr(struct sheet *sh, double rms_error);
/* Bits that the best code of all would need for this error. */
double rounding_ideal_bits(struct sheet *sh, double rms_error);

/* What optimizations are worth to a whole run: Amdahl's law for parts of it, products, time and money after each step,
 * and whether the hardware can be that fast.  (stack.h is another thing: the traits of training software.) */

/* Speedup of the whole when a share of its time runs `local` times faster, and the law solved for its other names.
 * gain_local is infinite or negative when no local speedup is enough; gain_share is above 1 when no share is. */
double gain_amdahl(struct sheet *sh, double share_frac, double local);
double gain_local(struct sheet *sh, double share_frac, double total);
double gain_share(struct sheet *sh, double local, double total);
/* The whole at best, when that share takes no time at all. */
double gain_limit(struct sheet *sh, double share_frac);

/* The factor of a step: of the whole run; a part of an iteration; a share of the old time; less of something.  Whole
 * times and rates have scale_speedup_time and scale_speedup_rate, idle shares and bubbles pipeline_gain (scale.h). */
double gain_factor(struct sheet *sh, double stated);
double gain_part(struct sheet *sh, double whole_s, double before_s, double after_s);
double gain_part_share(struct sheet *sh, double before_frac, double after_frac);
double gain_amount(struct sheet *sh, double before, double after);

/* Steps multiply. */
double gain_product(struct sheet *sh, double so_far, double factor);
double gain_remaining(struct sheet *sh, double target, double have);
/* Time and money after a speedup, and the time that it saves (cost.h has the money). */
double gain_time(struct sheet *sh, double base_s, double speedup);
double gain_cost(struct sheet *sh, double base_usd, double speedup);
/* What the run took before a speedup. */
double gain_before(struct sheet *sh, double after_s, double speedup);
double gain_saved_frac(struct sheet *sh, double speedup);
double gain_saved_time(struct sheet *sh, double before_s, double after_s);
/* Share of the run that a step saves for each day of work on it: the larger, the earlier it should be done. */
double gain_per_effort(struct sheet *sh, double speedup, double effort_s);
/* Time past a deadline; below 0: to spare. */
double gain_late(struct sheet *sh, double time_s, double deadline_s);

/* Factors known only within ranges: the middle of one on a logarithmic scale, its squared half-width, and where the
 * product lies with probability `level`, whose half-width is z standard deviations. */
double gain_middle(struct sheet *sh, double low, double high);
double gain_spread(struct sheet *sh, double low, double high);
double gain_likely_low(struct sheet *sh, double middle, double spread, double z);
double gain_likely_high(struct sheet *sh, double middle, double spread, double z);

/* Parts of a run: n alike, a share of the whole, two together, what the parts leave over, one beside another. */
double gain_parts(struct sheet *sh, double one_s, double n_alike);
double gain_share_time(struct sheet *sh, double whole_s, double share_frac);
double gain_sum(struct sheet *sh, double one_s, double other_s);
double gain_rest(struct sheet *sh, double whole_s, double parts_s);
double gain_ahead(struct sheet *sh, double one_frac, double other_frac);

/* Model FLOP utilization of a training run, and the least time that the peak allows. */
double gain_mfu(
    struct sheet *sh, double n_params, double n_tokens, double n_gpus, double peak_flop_per_s, double time_s);
double gain_floor(struct sheet *sh, double n_params, double n_tokens, double n_gpus, double peak_flop_per_s);

/* Symptoms and causes: figures that were measured, and what is known to lie behind them. */

enum figure {
#define FIGURE(name, title, option) FIGURE_##name,
#include "model/calc/figure.def"
#undef FIGURE
	N_FIGURES,
	FIGURE_NONE = -1,
};

const char *figure_name(enum figure f);
const char *figure_title(enum figure f);
const char *figure_option(enum figure f);
/* The figure with this name, or FIGURE_NONE. */
enum figure figure_find(const char *name);

/* What was measured; NaN where it was not. */
struct figures {
	double value[N_FIGURES];
};

/* A figure that speaks for a cause: above or below a limit, or simply given (neither limit). */
struct sign {
	enum figure figure;
	struct datum above, below;
	bool required; /* without it the cause is not meant */
};

/* Whether it is known, and whether it holds. */
bool sign_known(const struct sign *s, const struct figures *f);
bool sign_holds(const struct sign *s, const struct figures *f);

enum harm { HARM_STOPS, HARM_SPOILS, HARM_SLOWS }; /* the run ends, its result is wrong, it is slow; worst first */
enum use { USE_ANY, USE_TRAIN, USE_SERVE };

/* The fix, and its source (or NULL). */
struct fix {
	const char *text, *cite;
};

/* One cause: a file of hwdb/diagnoses. */
struct diagnosis {
	const char *id, *name, *notes;
	enum harm harm;
	enum use use;
	int n_signs, n_unless, n_stakes, n_fixes;
	struct sign *signs, *unless; /* none of `unless` may hold */
	const char *
	    *stakes;       /* formulas over figures: the share of the time that it costs; the first that can be read */
	struct fix *fixes; /* in this order */
	const char *command; /* the command line that sizes it, with {figure|example} in it */
	struct source from;
};

/* --- what figures say together --------------------------------------------------------------------------- */

/* Idle that no part of the step accounts for: neither those that compute nor those that wait. */
double diagnose_idle(struct sheet *sh, double gpu_busy_frac, double computing_frac, double waiting_frac);
/* Parts of a step together. */
double diagnose_together(struct sheet *sh, const double *part_frac, int n_parts);
/* A step that is the sum of its parts. */
double diagnose_step(struct sheet *sh, const double *part_s, int n_parts);
/* What a part takes beyond its prediction, as a share of the step; 0 when it takes less. */
double diagnose_excess(struct sheet *sh, double measured_s, double predicted_s, double step_s);
/* The clock that a GPU holds, of its highest. */
double diagnose_clock(struct sheet *sh, double clock_hertz, double max_hertz);
double diagnose_memory(struct sheet *sh, double peak_byte, double memory_byte);

/*
 * How wrong a prediction may be.  Errors are natural logarithms of measured / predicted; an interval holds 80 % of the
 * cases.  Errors of one class of kernels are taken as fully correlated (the same kernel is wrong in the same way in
 * every layer), errors of different classes as independent.
 */

enum { ERROR_CLASSES_MAX = 24, UNCERTAINTY_RANGES = 8 };

/* A class of kernels in a sum: what share it has, and how its measurements lay around its predictions. */
struct error_class {
	double share_frac;
	double q10, q90; /* 10 % and 90 % quantiles */
};

struct error_terms {
	int n;
	struct error_class classes[ERROR_CLASSES_MAX];
	double stack_sigma;    /* of how the parts are put together, 0: they stand alone */
	double transfer_sigma; /* of parameters taken from another GPU, 0: its own */
	double reach;          /* error_reach of every dimension, added up */
	double reach_sigma;    /* error for each unit of that */
	double widening;       /* factor on the half-width: conformal correction, warnings */
};

/* What is known of a kind of answer beyond the residuals of a calibration. */
struct uncertainty {
	const char *id, *name, *source, *date, *notes;
	struct datum n_points;
	struct datum sigma;          /* for a calibration without a residual */
	struct datum q10, q90;       /* the same, where it is not normal */
	struct datum transfer_sigma; /* added where the parameters are another machine's; absent: 0 */
	struct datum engine_sigma;   /* added where they are the median of several engines', and one is meant */
	struct datum conformal;      /* factor that makes 80 % of the cases fall inside; absent: 1 */
	struct datum reach_sigma;    /* for each factor of e beyond the ranges; absent: 0 */
	struct datum within_sigma;   /* inside a group of source, model and GPU, beyond the kernels' */
	struct datum group_sigma;    /* between groups of one stack */
	struct datum unlisted_within_sigma, unlisted_group_sigma; /* inside and between groups of such a stack */
	struct datum unlisted_sigma;     /* added for a stack of which no runs were looked at */
	struct datum recipe_sigma;       /* added for experts and adapters in such a stack */
	struct datum hop_sigma;          /* of a step's latency on a network, from others of its transport */
	struct datum transport_sigma;    /* the same from other transports */
	struct datum machine_sigma;      /* added for a machine without measured kernels */
	struct datum n_groups, n_stacks; /* that these were told from */
	int n_ranges;
	struct error_range {
		const char *dim; /* `m` */
		struct datum from, to;
	} ranges[UNCERTAINTY_RANGES]; /* that were measured */
};

/* The 80 % interval of a row, and how it is known. */
struct interval {
	double low, high;
	const char *why;
};

/* ln of how far a value lies outside of what was measured; 0 inside. */
double error_reach(struct sheet *sh, double value, double from, double to);
/* Half-widths in ln, downwards and upwards. */
double error_below(struct sheet *sh, const struct error_terms *e);
double error_above(struct sheet *sh, const struct error_terms *e);
/* The conformal factor: which quantile of |ln(measured / predicted)| / half-width holds 80 % of n cases with the
 * finite-sample correction; 1 when there are too few. */
double conformal_rank(struct sheet *sh, double n_cases);

/* A class of a sum from the residuals of a calibration (NULL, or without quantiles: a normal error of `sigma`). */
struct error_class error_class_of(double share_frac, const struct residual *r, double sigma);
/* The residual of this name, or NULL. */
const struct residual *residual_of(const struct calibration *c, const char *name);
/* value x exp(-below) .. value x exp(above). */
struct interval interval_of(double value, const struct error_terms *e, const char *why);

#endif

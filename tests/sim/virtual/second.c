/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second instance of the agent in one process: instance.c once more, with its own static state,
 * and agent.c, which uses it. All other functions take the instance that they work on, so those of
 * the first copy serve both.
 */
#define agent_init second_init
#define agent_add_efa second_add_efa
#define agent_found second_found
#define agent_found_efas second_found_efas
#define agent_host_log second_host_log
#define agent_telemetry second_telemetry
#define agent_service second_service
#define agent_device_plugin second_device_plugin
#define agent_other_driver second_other_driver
#define agent_stop second_stop
#define agent_time second_time
#define agent_time_old second_time_old
#define agent_api_identity second_api_identity
#define agent_api_opened second_api_opened
#define agent_api_failed second_api_failed
#define agent_api_ended second_api_ended
#define agent_pods_opened second_pods_opened
#define agent_pods_failed second_pods_failed
#define agent_step second_step
#define agent_next_order second_next_order
#define agent_step_due second_step_due
#define agent_deadline second_deadline
#define agent_log second_log
#define agent_log_written second_log_taken
#define instance_neuron second_neuron
#define instance_efa second_efa
#include "agent/agent.c"    // NOLINT(bugprone-suspicious-include)
#include "agent/instance.c" // NOLINT(bugprone-suspicious-include)

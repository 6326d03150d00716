"""The document is made once, of our operations, by our settings; with openapi_links and openapi_words."""

from __future__ import annotations

import json

from django.utils.translation import override
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.plumbing import load_enum_name_overrides
from drf_spectacular.settings import patched_settings, spectacular_settings

from tasksapp.api.openapi import document as module
from tasksapp.api.openapi.document import openapi_document, operations_of

#: The functions of a client that is made from the document.
OPERATION_IDS = """
    cancel_job cancel_job_by_business_key change_api_key change_biz_type change_job change_job_by_business_key
    change_series claim_jobs complete_claim count_jobs create_biz_type create_job create_jobs
    create_series delete_biz_type delete_series drop_job drop_job_by_business_key end_previous_api_key
    end_previous_key_pair end_previous_signing_secret export_biz_types export_jobs extend_claim fail_claim
    import_biz_types issue_api_key lift_resolve list_answer_links
    list_api_keys list_audit_entries list_biz_types
    list_dead_jobs list_flow_keys list_issues list_job_attempts list_jobs list_key_pairs list_operations
    list_series make_answer_link
    make_key_pair make_what_follows_again
    pace_operation pause_biz_type pause_flow_key pause_series plan_backfill plan_operation
    plan_rest_of_operation preview_schedule read_api_key read_biz_type read_delivery_health read_job
    read_job_by_business_key read_operation read_series read_stats_series read_your_own_api_key redrive_job
    redrive_job_by_business_key
    release_claim resolve_business_key resume_biz_type resume_flow_key resume_series retire_key_pairs revoke_api_key
    rotate_api_key rotate_signing_secret run_job_again run_job_now run_job_now_by_business_key send_test_call
    set_client_certificate set_credentials start_operation stop_operation stop_signing_callbacks trigger_series
    withdraw_answer_link
"""
#: Its types.
SCHEMAS = """
    AddressVerdict AnswerLink AnswerLinkRequest
    ApiKey ApiKeyPage ApiKeyRequest Attempt AttemptPage AuditEntry AuditEntryPage Auth
    BackfillRequest Backoff BizType BizTypeChange BizTypeDefinition BizTypeDocument
    BizTypeImport BizTypeNumbers BizTypePage BizTypeRequest BulkAnswer BulkRequest BulkResult CatchUp
    CertificateRequest ChangeApiKeyRequest
    ChangeBizTypeRequest ChangeJobRequest ChangeSeriesRequest Claim ClaimOutcome ClaimRequest Claims
    CompleteClaimRequest CreatedBizType CreatedJob CredentialsRequest EndedClaim ExtendClaimRequest
    FailClaimRequest FlowKey FlowKeys Guarantee Health HealthState ImportAction ImportBizTypesRequest Issue
    Issues Job JobFilter JobNumbers JobPage JobRequest JobSeries JobSeriesPage JobStatus KeyPairs LiftRequest
    LiftedResolve MakeKeyPairRequest Method NewAnswerLink
    NewApiKey OneLive Operation OperationPage OperationRequest
    OperationState OperationVerb Ordered Overlap OwnKey OwnRequest PaceOperationRequest PauseBizTypeRequest
    PauseFlowKeyRequest
    PausedFlowKey PlanRestRequest PreviewScheduleRequest Problem
    Quota QuotaUse ReasonRequest ReceivedAnswer RedriveJobRequest ReleaseClaimRequest Resolution ResolveRequest
    ResumeBizTypeRequest ResumeFlowKeyRequest RotateApiKeyRequest RotateSecretRequest RotatedSecret
    SchedulePreview Scope SentRequest SeriesRequest StartOperationRequest Stats StatsPoint StatsSeries
    StopOperationRequest Target TestCall TestCallRequest TrialState TriggeredJob Verdict VersionRequest WhenLate
"""


def test_its_addresses_begin_at_its_server() -> None:
    document = openapi_document(prefix="/shop/delay")

    assert document["servers"] == [{"url": "/shop/delay", "description": "This site"}]
    assert all(path.startswith("/v1/") for path in document["paths"])
    assert openapi_document(prefix="")["servers"][0]["url"] == "/"


def test_operations_are_named_and_grouped_without_the_version() -> None:
    document = openapi_document(prefix="/api")
    create = document["paths"]["/v1/jobs"]["post"]

    assert create["operationId"] == "create_job"
    assert create["tags"] == ["Jobs"]
    assert document["paths"]["/v1/biz-types/{code}/jobs/{biz_id}"]["get"]["tags"] == ["Jobs"]
    used = {tag for _, operation in operations_of(document).values() for tag in operation["tags"]}
    assert {tag["name"] for tag in document["tags"]} == used | {"Callbacks"}


def test_each_name_that_a_client_has_is_known_here_so_that_none_changes_with_a_word() -> None:
    document = openapi_document(prefix="/api")

    assert sorted(operations_of(document)) == OPERATION_IDS.split()
    assert sorted(document["components"]["schemas"]) == SCHEMAS.split()


def test_the_projects_names_of_enums_and_ours_do_not_become_each_others() -> None:
    project = {"ENUM_NAME_OVERRIDES": {"Planet": ["mars", "venus"]}}
    with patched_settings(project), override("en"):
        before = load_enum_name_overrides()

        made = module._document.__wrapped__()

    with patched_settings(project), override("en"):
        assert load_enum_name_overrides() == before
    assert "JobStatus" in made["components"]["schemas"]


def test_it_is_of_openapi_3_1_and_has_nothing_that_only_3_0_knows() -> None:
    document = openapi_document(prefix="/api")

    assert document["openapi"].startswith("3.1")
    assert '"nullable"' not in json.dumps(document)


def test_every_request_and_answer_has_an_example() -> None:
    for name, (_, operation) in operations_of(openapi_document(prefix="/api")).items():
        for body in (operation.get("requestBody", {}), *operation["responses"].values()):
            for media in body.get("content", {}).values():
                assert "example" in media or "examples" in media, name


def test_links_lead_to_operations_with_parameters_that_these_take() -> None:
    found = operations_of(openapi_document(prefix="/api"))
    seen = 0

    for _, operation in found.values():
        for answer in operation["responses"].values():
            for link in answer.get("links", {}).values():
                _, target = found[link["operationId"]]
                assert link["parameters"].keys() <= {each["name"] for each in target["parameters"]}
                seen += 1
    assert seen >= 20


def test_the_language_of_the_first_who_asks_does_not_matter() -> None:
    with override("zh-hans"):
        made = module._document.__wrapped__()

    assert made == module._document()


def test_it_is_made_without_a_complaint_and_leaves_the_projects_settings_as_they_were() -> None:
    before = (spectacular_settings.TITLE, spectacular_settings.COMPONENT_SPLIT_PATCH)
    GENERATOR_STATS.reset()

    made = module._document.__wrapped__()

    assert made["info"]["title"] == "DelayHub"
    assert not GENERATOR_STATS
    assert before == (spectacular_settings.TITLE, spectacular_settings.COMPONENT_SPLIT_PATCH)
